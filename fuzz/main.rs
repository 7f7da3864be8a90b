//! A fuzzer of the target that `WINDROW_FUZZ` names: `tools/fuzz.py` builds and runs it. With
//! `WINDROW_SEEDS` it only writes the target's first inputs into that folder.

#![no_main]

use std::panic::{catch_unwind, set_hook};
use std::path::Path;
use std::sync::{Mutex, OnceLock};
use std::{env, fs, process};

use libfuzzer_sys::fuzz_target;
use windrow::fuzz::{Target, TARGETS};

static TARGET: OnceLock<Target> = OnceLock::new();
static LAST_PANIC: Mutex<String> = Mutex::new(String::new());

fuzz_target!(init: start(), |bytes: &[u8]| read(bytes));

/// Prints no panic at once: the core catches those of Arrow's readers. Only a panic that leaves the core
/// is a fault.
fn start() {
    set_hook(Box::new(|panic| {
        if let Ok(mut last) = LAST_PANIC.lock() {
            *last = panic.to_string();
        }
    }));
    let name = env::var("WINDROW_FUZZ").unwrap_or_default();
    let Some(target) = TARGETS.into_iter().find(|target| target.name == name) else {
        let names = TARGETS.map(|target| target.name).join(", ");
        eprintln!("windrow: WINDROW_FUZZ: got {name:?}; allowed: {names}");
        process::exit(2);
    };
    if let Ok(folder) = env::var("WINDROW_SEEDS") {
        for (nth, seed) in (target.seeds)().iter().enumerate() {
            if let Err(error) = fs::write(Path::new(&folder).join(format!("seed-{nth}")), seed) {
                eprintln!("windrow: {folder}: {error}");
                process::exit(2);
            }
        }
        process::exit(0);
    }
    let _ = TARGET.set(target);
}

fn read(bytes: &[u8]) {
    let Some(target) = TARGET.get() else { return };
    if catch_unwind(|| (target.read)(bytes)).is_err() {
        let last = LAST_PANIC.lock().map(|last| last.replace('\n', ": "));
        eprintln!("windrow: {}", last.unwrap_or_default());
        process::abort();
    }
}
