//! Makes of the compiled module what Node.js loads: `bindings MODULE.wasm FOLDER`.
//!
//! The generator as a library is of one version with the macros, by `Cargo.lock`; the command of
//! its own would have to be installed and kept equal.

use std::env;
use std::error::Error;

use wasm_bindgen_cli_support::Bindgen;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = env::args().skip(1);
    let (Some(module), Some(folder)) = (arguments.next(), arguments.next()) else {
        return Err("usage: bindings MODULE.wasm FOLDER".into());
    };
    Bindgen::new().input_path(module).nodejs(true)?.typescript(true).generate(folder)?;
    Ok(())
}
