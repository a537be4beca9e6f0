//! Two switches that act as one for hosts with a card at both (MLAG, IEEE 802.1AX distributed aggregates).
//!
//! The lab does the work of the protocol between the two: each has learned behind which port a host is, whichever box
//! its frames came through, and what came over the cable between them leaves to no host that had it already.
use crate::aggregate;
use crate::error::LabResult;
use crate::netlink::NetlinkNamespace;
use crate::plan::{LabPlan, PairedBox};

/// Has both boxes know what the cables of the plan are now. `wires` are theirs.
pub(crate) async fn agree(
    plan: &LabPlan,
    pair: &[String; 2],
    wires: [&NetlinkNamespace; 2],
) -> LabResult<()> {
    for (own, wire) in plan.boxes(pair).iter().zip(wires) {
        if let Some(peer) = own.peer {
            // A host's frames would else move it here each time its hash takes the other box.
            wire.end_learning(peer).await?;
        }
        for (mac, port) in &own.stations {
            wire.place_station(port, *mac).await?;
        }
        let rules = rules(own);
        wire.within(|| aggregate::nft(&rules))?;
    }
    Ok(())
}

fn rules(own: &PairedBox<'_>) -> String {
    let split = match own.peer {
        Some(peer) if !own.common.is_empty() => {
            let common = aggregate::quoted(&own.common);
            format!("iifname \"{peer}\" oifname {{ {common} }} drop")
        }
        _ => String::new(),
    };
    format!(
        "table bridge pair\ndelete table bridge pair\ntable bridge pair {{\n chain split {{\n  type filter hook \
         forward priority 0;\n  {split}\n }}\n}}\n"
    )
}
