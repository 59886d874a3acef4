use std::process::Stdio;

use crate::town::{Peer, Town};

#[test]
fn of_eight_claims_at_once_one_is_granted() {
    let town = Town::new();
    let peers: Vec<Peer> = (0..8).map(|i| town.peer(&format!("p{i}"))).collect();
    for round in 0..3 {
        let path = format!("src/x{round}");
        let children: Vec<_> = peers
            .iter()
            .map(|peer| {
                let mut command = town.env.jig_command(&["--json", "bus", "--as", &peer.id, "claim", &path]);
                command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("it starts")
            })
            .collect();
        let ends: Vec<_> = children.into_iter().map(|child| child.wait_with_output().expect("it ends")).collect();
        let count = |code| ends.iter().filter(|end| end.status.code() == Some(code)).count();
        assert_eq!((count(0), count(3)), (1, 7), "round {round}: {ends:?}");
        let holder = town.bus(&["status"]).json()["claims"]
            .as_array()
            .expect("claims")
            .iter()
            .find(|claim| claim["path"] == path.as_str())
            .expect("held")["session"]
            .clone();
        for end in ends.iter().filter(|end| end.status.code() == Some(3)) {
            let refused: serde_json::Value = serde_json::from_slice(&end.stdout).expect("a document");
            assert_eq!(refused["conflicts"][0]["session"], holder);
        }
    }
}
