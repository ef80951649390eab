//! Tests of rotations of real databases by the server program. The tests kill the program at every
//! step of a rotation.

/// Defines tests that kill the server program at a step of a rotation. `$kill` is the function that
/// runs the test, given the step (the name of a failpoint) and the reason why the rotation starts.
macro_rules! killed {
    ($kill:ident; $($name:ident: $place:literal, $way:expr;)*) => {$(
        #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        async fn $name() {
            $kill($place, $way).await;
        }
    )*};
}

mod full_disk;
mod kill;
mod kill_proxied;
mod sampler;
mod two_nodes;
pub(crate) mod world;
