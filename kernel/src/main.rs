//! A node program: answers what is asked of the kernel that it runs in.

use std::env;
use std::path::PathBuf;
use std::process::ExitCode;

fn main() -> ExitCode {
    let Some(folder) = env::args_os().nth(1) else {
        eprintln!("usage: kps-kernel-node FOLDER");
        return ExitCode::from(2);
    };
    match kps_kernel::run(&PathBuf::from(folder)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("{why}");
            ExitCode::FAILURE
        }
    }
}
