//! Generates the JavaScript bindings of the compiled module: `bindings MODULE.wasm FOLDER
//! [--script]`. `--script` generates a classic script, for a page that is opened from disk and
//! cannot load modules.
//!
//! The generator is used as a library, because `Cargo.lock` then ensures that its version is equal
//! to that of the wasm-bindgen macros. The command `wasm-bindgen` would have to be installed
//! separately in the same version.

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
