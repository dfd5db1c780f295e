//! Memory, processor time and start of this process, under the names that every exporter uses.

use std::time::{SystemTime, UNIX_EPOCH};

use super::{PROCESS_CPU, PROCESS_MEMORY, PROCESS_START, exposition::Exposition};

/// Ticks per second in `/proc`: a constant of Linux, whatever its kernel's own clock.
const USER_HZ: f64 = 100.0;

/// Adds the process's own metrics; where there is no `/proc`, none.
pub(super) fn add(text: &mut Exposition) {
    if let Some(bytes) = memory() {
        text.family(PROCESS_MEMORY);
        text.sample(PROCESS_MEMORY, &[], bytes);
    }
    if let Some((cpu, started)) = times() {
        text.family(PROCESS_CPU);
        text.sample(PROCESS_CPU, &[], cpu);
        text.family(PROCESS_START);
        text.sample(PROCESS_START, &[], started);
    }
}

fn memory() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kilobytes: f64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes * 1024.0)
}

fn times() -> Option<(f64, f64)> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    // The name of the program, in brackets, may contain anything. What follows begins with field 3.
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks = |field: usize| fields.get(field - 3)?.parse::<f64>().ok();
    let uptime: f64 = std::fs::read_to_string("/proc/uptime").ok()?.split_whitespace().next()?.parse().ok()?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).ok()?.as_secs_f64();
    let started = now - uptime + ticks(22)? / USER_HZ;
    // Both clocks are read one after the other: rounded, the start does not seem to move.
    Some(((ticks(14)? + ticks(15)?) / USER_HZ, started.round()))
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_process_knows_its_memory_and_when_it_started() {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("it is past 1970").as_secs_f64();
        assert!(memory().is_some_and(|bytes| bytes > 1e6));
        let (cpu, started) = times().expect("/proc");
        assert!(cpu >= 0.0 && started <= now + 1.0 && started > now - 86_400.0, "{cpu} {started} {now}");
    }
}
