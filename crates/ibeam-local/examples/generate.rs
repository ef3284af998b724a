//! scratch
#![allow(clippy::print_stdout, clippy::unwrap_used, clippy::indexing_slicing)]
use ibeam_local::{Engine, LanguageModel};
use std::io::Write;
use std::time::Instant;
fn main() {
    let args: Vec<String> = std::env::args().collect();
    let t = Instant::now();
    let mut e = Engine::load(args[1].as_ref(), 4096).unwrap();
    println!("load {:?}", t.elapsed());
    let v = e.vocabulary();
    let mut toks = v.encode("<|im_start|>user\n").unwrap();
    println!("{}", toks.len());
    toks = vec![151644];
    toks.extend(v.encode(&format!("user\n{}", args[2])).unwrap());
    toks.push(151645);
    toks.extend(v.encode("\n").unwrap());
    toks.push(151644);
    toks.extend(v.encode("assistant\n").unwrap());
    let t = Instant::now();
    e.read(&toks, &|| true).unwrap();
    println!(
        "prompt {} {:?} {:.1} tok/s",
        toks.len(),
        t.elapsed(),
        toks.len() as f64 / t.elapsed().as_secs_f64()
    );
    let n0 = toks.len();
    if let Some(n) = args.get(3) {
        let n: usize = n.parse().unwrap();
        let mut long: Vec<u32> = toks.clone();
        while long.len() < n {
            long.extend(&toks);
        }
        long.truncate(n);
        e.read(&toks[..5], &|| true).unwrap();
        for _ in 0..2 {
            let t = Instant::now();
            e.read(&long, &|| true).unwrap();
            println!("prompt {} {:?} {:.1} tok/s", n, t.elapsed(), n as f64 / t.elapsed().as_secs_f64());
            e.read(&toks[..5], &|| true).unwrap();
        }
        e.read(&toks, &|| true).unwrap();
    }
    let t = Instant::now();
    let mut n = 0;
    for _ in 0..100 {
        let (best, _) = e.logits().iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1)).unwrap();
        if best == 151645 {
            break;
        }
        std::io::stdout().write_all(e.vocabulary().piece(best as u32)).unwrap();
        e.append(&[best as u32]).unwrap();
        n += 1;
    }
    println!("\ngen {n} after {n0}: {:.1} tok/s", n as f64 / t.elapsed().as_secs_f64());
    println!(
        "{}",
        std::fs::read_to_string("/proc/self/status")
            .unwrap()
            .lines()
            .filter(|l| l.starts_with("VmHWM"))
            .collect::<String>()
    );
}
