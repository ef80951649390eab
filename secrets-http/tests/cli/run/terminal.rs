//! Tests of supervision by `secrets run` in a terminal: job control of the shell, and programs that
//! use the whole screen.

use super::staging;
use super::tmux::Tmux;

/// Python script that counts interrupt signals until it reads a line. Its signal handler writes
/// directly to the file descriptor, because it may interrupt `print`, which is not reentrant.
pub(super) const COUNTING: &str = r"
import os, signal, sys
count = 0
def interrupt(*_):
    global count
    count += 1
    os.write(1, b'interrupt %d\n' % count)
signal.signal(signal.SIGINT, interrupt)
os.write(1, b'counting\n')
sys.stdin.readline()
os.write(1, b'total %d\n' % count)
";

#[test]
fn ctrl_c_reaches_the_command_once() {
    let (_server, home) = staging(&[]);
    home.write("count.py", COUNTING);
    let tmux = Tmux::start(&home);

    tmux.line("secrets run --init -- python3 count.py; echo status=$?");
    tmux.wait_for("counting");
    tmux.keys(&["C-c"]);
    tmux.wait_for("interrupt 1");
    tmux.keys(&["C-c"]);
    tmux.wait_for("interrupt 2");
    tmux.keys(&["Enter"]);

    let screen = tmux.wait_for("status=0");
    assert!(screen.contains("total 2"), "{screen}");
}

#[test]
fn an_interrupted_command_ends_with_130() {
    let (_server, home) = staging(&[]);
    let tmux = Tmux::start(&home);

    tmux.line("secrets run --init -- sh -c 'echo wai''ting; exec sleep 1000'; echo status=$?");
    tmux.wait_for("waiting");
    tmux.keys(&["C-c"]);
    tmux.wait_for("status=130");
    tmux.line("secrets run --init -- sh -c 'echo aga''in; exec sleep 1000'; echo next=$?");
    tmux.wait_for("again");
    tmux.keys(&["C-\\"]);
    tmux.wait_for("next=131");
}

#[test]
fn a_job_is_stopped_listed_and_continued() {
    let (_server, home) = staging(&[]);
    let script = "trap 'echo contin''ued' CONT; echo start''ed; read line; echo got=$line";
    home.write("job.sh", script);
    let tmux = Tmux::start(&home);

    tmux.line("secrets run --init -- bash job.sh");
    tmux.wait_for("started");
    tmux.keys(&["C-z"]);
    tmux.wait_for("Stopped");
    tmux.line("jobs; ps -o stat= $(jobs -p); echo lis''ted");
    let screen = tmux.wait_for("listed");
    assert!(screen.contains("[1]+  Stopped"), "{screen}");
    assert!(screen.contains("\nT"), "{screen}");
    tmux.line("fg");
    tmux.wait_for("continued");
    tmux.line("hello");
    tmux.wait_for("got=hello");
    tmux.line("jobs; echo no''ne");
    tmux.wait_for("none");
}

#[test]
fn a_job_in_the_background_stops_when_it_reads() {
    let (_server, home) = staging(&[]);
    home.write("job.sh", "echo start''ed; read line; echo got=$line");
    let tmux = Tmux::start(&home);

    tmux.line("secrets run --init -- bash job.sh &");
    tmux.wait_for("started");
    // Typed lines that the shell does not read would be read by the job.
    tmux.line("until jobs | grep Stop''ped; do sleep 0.02; done");
    tmux.wait_for("Stopped");
    tmux.line("fg");
    // The shell has changed the modes of the terminal for the job.
    tmux.wait_for("fg\nsecrets run");
    tmux.line("hello");
    tmux.wait_for("got=hello");
}

#[test]
fn a_job_continues_in_the_background() {
    let (_server, home) = staging(&[]);
    let script = "echo start''ed; until [ -e go ]; do sleep 0.02; done; echo fini''shed";
    home.write("job.sh", script);
    let tmux = Tmux::start(&home);

    tmux.line("secrets run --init -- bash job.sh");
    tmux.wait_for("started");
    tmux.keys(&["C-z"]);
    tmux.wait_for("Stopped");
    tmux.line("bg");
    tmux.line("touch go; echo touch''ed");
    tmux.wait_for("finished");
    tmux.line("wait; echo sta''tus=$?");
    tmux.wait_for("status=0");
}

#[test]
fn the_command_sees_a_new_size_of_the_window() {
    let (_server, home) = staging(&[]);
    let script = "trap 'stty size' WINCH; echo start''ed; until [ -e go ]; do sleep 0.02; done";
    home.write("size.sh", script);
    let tmux = Tmux::start(&home);

    tmux.line("secrets run --init -- bash size.sh");
    tmux.wait_for("started");
    tmux.resize(100, 30);

    tmux.wait_for("30 100");
    home.write("go", "");
}

#[test]
fn the_modes_of_the_terminal_are_restored() {
    let (_server, home) = staging(&[]);
    let raw = "stty raw -echo; echo ra''w; kill -9 $$";
    let tmux = Tmux::start(&home);
    tmux.line("stty -g > before");

    tmux.line(&format!("secrets run --init -- bash -c '{}'", raw.replace('\'', "\"")));
    tmux.wait_for("raw");
    tmux.keys(&["Enter"]);
    tmux.line("stty -g > after; cmp before after && echo sa''me");

    tmux.wait_for("same");
}

#[test]
fn programs_for_the_whole_screen_work() {
    let (_server, home) = staging(&[("A", "kvc_a")]);
    home.write("text", &"line of text\n".repeat(100));
    let tmux = Tmux::start(&home);

    tmux.line("secrets run --init -- vim -u NONE new");
    tmux.wait_for("\n~");
    tmux.keys(&["i"]);
    tmux.keys(&["-l", "typed in vim"]);
    tmux.wait_for("typed in vim");
    tmux.keys(&["Escape"]);
    // Vim waits for the rest of a key sequence after Escape.
    tmux.wait_until("normal mode", |screen| !screen.contains("INSERT"));
    tmux.line(":wq");
    tmux.wait_until("the end of vim", |screen| !screen.contains("\n~"));
    tmux.line("cat new; echo vi''m=$?");
    assert!(tmux.wait_for("vim=0").contains("typed in vim"));
    tmux.line("secrets run --init -- less text; echo le''ss=$?");
    tmux.wait_for("text\n");
    tmux.keys(&["q"]);
    tmux.wait_for("less=0");
    tmux.line("secrets run --init -- top; echo to''p=$?");
    tmux.wait_for("PID");
    tmux.keys(&["q"]);
    tmux.wait_for("top=0");
    tmux.line("secrets run --init -- python3 -q -i; echo pyt''hon=$?");
    tmux.wait_for(">>>");
    tmux.line("print('su' + 'm', 1 + 2)");
    tmux.wait_for("sum 3");
    tmux.keys(&["C-d"]);
    tmux.wait_for("python=0");
}

#[test]
fn a_person_sees_the_number_of_secrets() {
    let (_server, home) = staging(&[("A", "kvc_a"), ("B", "kvc_b")]);
    let tmux = Tmux::start(&home);

    tmux.line("secrets run -- true; echo do''ne");

    let screen = tmux.wait_for("done");
    assert!(screen.contains("web/staging: 2 secrets"), "{screen}");
}

#[test]
fn a_password_is_read_without_echo() {
    let (_server, home) = staging(&[]);
    let tmux = Tmux::start(&home);

    tmux.line("secrets run --init -- bash -c 'read -s -p \"Pass\"word: p; echo; echo len=${#p}'");
    tmux.wait_for("Password:");
    tmux.line("kvc_typed");

    let screen = tmux.wait_for("len=9");
    assert!(!screen.contains("kvc_typed"), "{screen}");
}
