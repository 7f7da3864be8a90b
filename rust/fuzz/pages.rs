//! Pages and heads of saved states.

use super::queries::{Saved, all, bare, of_bytes, records};
use crate::core::operator::stream_time::Source;
use crate::core::time::Time;
use crate::format::envelope;
use crate::record::operator::Operator;
use crate::shard::shard_sessions::ShardSessions;
use crate::state::head::Head;
use crate::state::page::Label;
use crate::state::page_text;
use crate::state::source_time::SourceTime;

/// The number of a query, and a page for its state.
pub(super) fn read_page(bytes: &[u8]) -> bool {
    let Some((saved, bytes)) = of_bytes(bytes) else {
        return false;
    };
    let mut page = bytes.to_vec();
    envelope::write_checksum(&mut page);
    let text = page_text::encode(&page).unwrap();
    assert_eq!(page_text::decode(&text).unwrap(), page);
    let Ok(label) = Label::read(&page) else {
        return false;
    };
    // It takes the place of the page of its name.
    let mut pages: Vec<&[u8]> = saved.pages.iter().map(Vec::as_slice).collect();
    let name = label.name().ok();
    let place = saved.names.iter().position(|own| *own == name);
    pages[place.unwrap_or(1)] = &page;
    restores(saved, &pages)
}

/// Each page of each query, compressed and not.
pub(super) fn pages() -> Vec<Vec<u8>> {
    let seeds = all().flat_map(|(number, saved)| {
        saved.pages.iter().flat_map(move |page| {
            let (metadata, rows) = envelope::unseal("page", page).unwrap();
            let plain = envelope::seal(&bare(&rows), metadata, None).unwrap();
            [page.clone(), plain].map(|page| [vec![number], page].concat())
        })
    });
    seeds.collect()
}

/// Whether pages are read. Then an operator continues, and writes pages that it reads again.
fn restores(saved: &Saved, pages: &[&[u8]]) -> bool {
    let mut operator = saved.operator();
    if operator.restore(pages).is_err() {
        return false;
    }
    if let Ok(written) = operator.pages() {
        let mut again = saved.operator();
        let pages: Vec<&[u8]> = written.iter().map(Vec::as_slice).collect();
        again.restore(&pages).unwrap();
        assert_eq!(again.pages().unwrap(), written);
    }
    continues(&mut operator);
    true
}

/// Pushes records and closes all windows. Errors are no faults: a state may hold any number.
pub(super) fn continues(operator: &mut Operator) {
    let done = operator
        .push(&records())
        .and_then(|_| operator.changed_pages());
    drop(done.and_then(|_| operator.finish()));
}

/// The number of a query, and the JSON of a head of its state.
pub(super) fn read_head(bytes: &[u8]) -> bool {
    let Some((saved, json)) = of_bytes(bytes) else {
        return false;
    };
    let Ok(json) = str::from_utf8(json) else {
        return false;
    };
    if serde_json::from_str::<Head>(json).is_err() {
        return false;
    }
    let (mut metadata, rows) = envelope::unseal("page", &saved.pages[0]).unwrap();
    metadata.insert(STATE.to_owned(), json.to_owned());
    let head = envelope::seal(&bare(&rows), metadata, None).unwrap();
    let progress = [SourceTime {
        input: 0,
        source: Source(0),
        time: Time(5_500),
    }];
    let mut is_read = touches(saved, &head, &progress);
    if let Ok(mut shard) = ShardSessions::new(&saved.spec, &records().schema(), 0) {
        is_read |= shard.restore(&head).is_ok();
        if let Ok(names) = shard.push(&saved.counted, &progress) {
            drop(shard.finish(&saved.named(&names)));
        }
    }
    let others = saved.pages.iter().skip(1).map(Vec::as_slice);
    let pages: Vec<&[u8]> = std::iter::once(head.as_slice()).chain(others).collect();
    restores(saved, &pages) || is_read
}

const STATE: &str = "windrow.state";

/// The JSON of each head.
pub(super) fn heads() -> Vec<Vec<u8>> {
    let head = |(number, saved): (u8, &Saved)| {
        let label = Label::read(&saved.pages[0]).unwrap();
        [&[number], label.text(STATE).unwrap().as_bytes()].concat()
    };
    all().map(head).collect()
}

/// Whether the head is read. Then a micro-batch reads and writes what it touches.
fn touches(saved: &Saved, head: &[u8], progress: &[SourceTime]) -> bool {
    let (records, mut operator) = (records(), saved.operator());
    let keys: Vec<usize> = operator
        .output()
        .fields()
        .iter()
        .take(saved.spec.keys.len())
        .map(|key| records.schema().index_of(key.name()).unwrap())
        .collect();
    let keys = records.project(&keys).unwrap();
    let Ok(names) = operator.touched(head, &keys, None, progress) else {
        return false;
    };
    let pages = saved.named(&names.unwrap_or_default());
    let more = operator.restore_touched(&[&[head][..], &pages].concat());
    let more = more.and_then(|names| match names.is_empty() {
        true => Ok(names),
        false => operator.restore_touched(&saved.named(&names)),
    });
    let pushed = more.and_then(|_| operator.push_micro_batch(&records, None, progress));
    drop(pushed.and_then(|_| operator.changed_pages()));
    true
}
