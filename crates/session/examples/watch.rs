//! Prints what a watcher sees, one JSON object a line: `watch CONFIG_DIR [PROJECT_FOLDER]`. Ends with its standard input.

#![expect(clippy::unwrap_used, reason = "a program for trying things out may stop at once")]

use std::io::Read;

use claude_ide_session::{ConfigDir, From, Store, Update, Watcher};

fn main() {
    let mut args = std::env::args().skip(1);
    let config = ConfigDir::at(args.next().unwrap());
    let folder = args.next().map(|folder| Store::new(config.clone(), None).project_folder(folder.as_ref()));
    let (sender, appeared) = std::sync::mpsc::channel();
    let print = move |update: Update| {
        println!("{}", serde_json::to_string(&update).unwrap());
        if let Update::Appeared { file, .. } = update {
            sender.send(file).ok();
        }
    };
    let watcher = std::sync::Arc::new(Watcher::start(config, print).unwrap());
    if let Some(folder) = folder {
        watcher.watch_folder(folder);
    }
    let follower = std::sync::Arc::clone(&watcher);
    std::thread::spawn(move || {
        for file in appeared {
            follower.follow(file, From::Start).unwrap();
        }
    });
    std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
    std::process::exit(0);
}
