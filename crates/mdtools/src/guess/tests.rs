//! How candidates are weighed against each other.

use super::*;

fn row(kind: Message, proof: Proof, fits: u32, misfits: u32) -> Evidence {
    Evidence { kind, proof, fits, misfits }
}

#[test]
fn more_of_one_kind_does_not_outweigh_what_contradicts() {
    let wrong = |inodes| {
        [
            row(catalogue::INODES, Proof::Plausible, inodes, 0),
            row(catalogue::DIRECTORIES, Proof::Place, 0, 13),
        ]
    };
    let right = [
        row(catalogue::INODES, Proof::Plausible, 40, 0),
        row(catalogue::DIRECTORIES, Proof::Place, 13, 0),
    ];
    assert_eq!(agreement(&wrong(40), &[]), agreement(&wrong(4000), &[]));
    assert_eq!((agreement(&wrong(4000), &[]), agreement(&right, &[])), (WHOLE / 2, WHOLE));
    // What was looked at without a result is no proof.
    assert_eq!((proofs(&wrong(4000)), proofs(&right)), (0, 13));
    let shared = [&right[..], &[row(catalogue::ROWS_WITH_P, Proof::Shared, 256, 0)]].concat();
    assert_eq!((agreement(&shared, &[]), proofs(&shared)), (WHOLE, 13));
}

#[test]
fn what_others_show_and_a_candidate_does_not_counts_against_it() {
    let few = [row(catalogue::INODES, Proof::Plausible, 2, 0)];
    assert_eq!(
        (agreement(&few, &[]), agreement(&few, &[catalogue::INODES, catalogue::DIRECTORIES])),
        (WHOLE, WHOLE / 2)
    );
}
