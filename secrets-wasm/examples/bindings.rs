//! Makes of the compiled module what JavaScript loads: `bindings MODULE.wasm FOLDER [--script]`. With
//! `--script` for a page without modules, such as one that is opened from a disk.
//!
//! The generator as a library is of one version with the macros, by `Cargo.lock`; the command of
//! its own would have to be installed and kept equal.

use std::env;
use std::error::Error;

use wasm_bindgen_cli_support::Bindgen;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let (module, folder, is_script) = match arguments.as_slice() {
        [module, folder] => (module, folder, false),
        [module, folder, flag] if flag == "--script" => (module, folder, true),
        _ => return Err("usage: bindings MODULE.wasm FOLDER [--script]".into()),
    };
    let mut generator = Bindgen::new();
    generator.input_path(module).out_name("secrets").typescript(false).remove_name_section(true);
    generator.remove_producers_section(true);
    if is_script {
        generator.no_modules(true)?
    } else {
        generator.web(true)?
    };
    generator.generate(folder)?;
    Ok(())
}
