//! An export: a protocol of lines. `W OFFSET BYTE` fills a block of 512 bytes, `R OFFSET` answers
//! with its first byte.

use std::sync::Arc;

use block::{BufMut, Device, Error, Reactor, ReturnedBuffer};
use export::serve::{Order, OrderQueue};
use export::{Gate, RemovalPolicy};

const BLOCK_BYTES: usize = 512;

fn order(line: &str) -> Option<Order> {
    let words: Vec<&str> = line.split(' ').collect();
    match words[..] {
        ["R", offset] => {
            Some(Order::Read { offset: offset.parse().ok()?, into: BufMut::zeroed(BLOCK_BYTES) })
        }
        ["W", offset, byte] => {
            let mut block = BufMut::zeroed(BLOCK_BYTES);
            block.fill(byte.parse().ok()?);
            let offset = offset.parse().ok()?;
            Some(Order::Write { offset, from: block.freeze(), durable: true })
        }
        _ => None,
    }
}

/// Answers each line, in the order in which the device does.
fn serve(device: &dyn Device, lines: &str, reactor: &Reactor) -> Result<Vec<String>, Error> {
    let gate = Arc::new(Gate::default());
    let mut queue = OrderQueue::open(device, 4, RemovalPolicy::Performance, &gate, reactor)?;
    let mut said = Vec::new();
    for (number, line) in lines.lines().enumerate() {
        match order(line) {
            Some(order) => queue.take(number as u64, order),
            None => said.push(format!("{number} makes no sense")),
        }
    }
    let mut answers = Vec::new();
    loop {
        queue.poll(&mut answers);
        said.extend(answers.drain(..).map(|answer| match (answer.result, answer.buffer) {
            (Err(error), _) => format!("{} {error}", answer.token),
            (Ok(()), ReturnedBuffer::Read(block)) => {
                let mut byte = [0];
                block.slices().take(1).for_each(|bytes| byte[0] = bytes[0]);
                format!("{} {}", answer.token, byte[0])
            }
            (Ok(()), _) => format!("{} done", answer.token),
        }));
        if queue.in_flight() == 0 {
            return Ok(said);
        }
        reactor.wait(None).map_err(|error| Error::from_io("waiting for the device", error))?;
    }
}

#[test]
fn an_export_answers_each_order_once() {
    let device = testkit::Memory::new(1 << 20);
    let reactor = Reactor::virtual_clock();
    assert_eq!(
        serve(&device, "W 512 7\nX", &reactor).expect("served"),
        ["1 makes no sense", "0 done"]
    );
    let mut said = serve(&device, "R 512\nR 0\nR 99999999", &reactor).expect("served");
    said.sort();
    assert_eq!(said[..2], ["0 7", "1 0"]);
    assert!(said[2].starts_with("2 ") && said[2].contains("past the end"), "{}", said[2]);
    assert!(order("W 0 256").is_none(), "no byte");
}
