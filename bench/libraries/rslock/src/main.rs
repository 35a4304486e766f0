// One process of bench/redlock_sections.py, for rslock:
//
//     rslock_bench sections HOST:PORT,… NAME CONTENDERS
//
// All defaults of the library are kept: three tries up to 200 ms apart, then it gives up, which is counted as an error,
// and it is called again.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use rslock::LockManager;
use tokio::io::{AsyncBufReadExt, BufReader, stdin};
use tokio::task::{LocalSet, spawn_local};
use tokio::time::sleep;

const TTL: Duration = Duration::from_secs(30);

#[derive(Default)]
struct Report {
    sections: Vec<[i64; 5]>, // contender; requested, granted, released, done
    errors: usize,
    problem: String,
}

/// CLOCK_MONOTONIC: the same in all processes of a machine.
fn now_ns() -> i64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut now) };
    now.tv_sec * 1_000_000_000 + now.tv_nsec
}

async fn contend(contender: i64, locks: LockManager, name: String, limit: i64, report: Rc<RefCell<Report>>) {
    while now_ns() < limit {
        let requested = now_ns();
        match locks.lock(name.as_bytes(), TTL).await {
            Ok(lock) => {
                let granted = now_ns();
                let released = now_ns();
                lock.release().await;
                report.borrow_mut().sections.push([contender, requested, granted, released, now_ns()]);
            }
            Err(problem) => {
                let mut report = report.borrow_mut();
                report.errors += 1;
                report.problem = problem.to_string();
            }
        }
    }
}

fn print(report: &Report) {
    let sections: Vec<String> = report.sections.iter().map(|each| format!("{each:?}")).collect();
    println!("{{\"sections\": [{}], \"errors\": {}, \"problem\": {:?}}}", sections.join(","), report.errors, report.problem);
}

async fn sections(servers: &str, name: &str, contenders: i64) {
    let locks = LockManager::new(servers.split(',').map(|each| format!("redis://{each}")).collect());
    println!("ready");
    let mut line = String::new();
    BufReader::new(stdin()).read_line(&mut line).await.expect("a line of input");
    let times: Vec<i64> = line.split_whitespace().map(|each| each.parse().expect("a time")).collect();
    let (end, limit) = (times[0], times[1]);
    let report = Rc::new(RefCell::new(Report::default()));
    for contender in 0..contenders {
        spawn_local(contend(contender, locks.clone(), name.to_string(), limit, report.clone()));
    }
    while now_ns() < end || (now_ns() < limit && report.borrow().sections.is_empty()) {
        sleep(Duration::from_millis(1)).await;
    }
    print(&report.borrow());
    std::process::exit(0);
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[1..] {
        ["sections", servers, name, contenders] => {
            let count = contenders.parse().expect("a number of contenders");
            LocalSet::new().run_until(sections(servers, name, count)).await;
        }
        _ => {
            eprintln!("usage: rslock_bench sections HOST:PORT,… NAME CONTENDERS");
            std::process::exit(64);
        }
    }
}
