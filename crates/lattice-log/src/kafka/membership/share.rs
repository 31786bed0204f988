//! How leases are shared out: evenly, and everybody keeps what they have as far as that goes.

use std::collections::{BTreeMap, BTreeSet};

/// What a member brings to the sharing.
#[derive(Debug, Clone, Default)]
pub(super) struct Claim {
    /// The leases it holds.
    pub(super) held: BTreeSet<i32>,
    /// The leases it was given last, perhaps in an earlier life.
    pub(super) before: BTreeSet<i32>,
}

/// The leases of each member. One that a member has to give back goes to nobody in this round:
/// only when its holder has let go of it, another one may have it.
pub(super) fn share(leases: i32, claims: &BTreeMap<String, Claim>) -> BTreeMap<String, Vec<i32>> {
    let mut claimed: BTreeMap<i32, usize> = BTreeMap::new();
    for lease in claims.values().flat_map(|claim| &claim.held) {
        *claimed.entry(*lease).or_default() += 1;
    }
    let mut shares: BTreeMap<String, Vec<i32>> = BTreeMap::new();
    let quotas = quotas(leases, claims);
    for (id, claim) in claims {
        // Two holders of one lease would both run its tasks: both let go.
        let own = claim.held.iter().filter(|lease| claimed.get(lease) == Some(&1)).copied();
        shares.insert(id.clone(), thinned(&own.collect::<Vec<_>>(), quotas[id]));
    }
    let mut free: Vec<i32> = (0..leases).filter(|lease| !claimed.contains_key(lease)).collect();
    free.retain(|lease| {
        let old = claims.iter().find(|(_, claim)| claim.before.contains(lease));
        let Some((id, share)) = old.and_then(|(id, _)| Some((id, shares.get_mut(id)?))) else {
            return true;
        };
        let taken = share.len() < quotas[id];
        if taken {
            share.push(*lease);
        }
        !taken
    });
    for lease in free {
        let least = shares.iter_mut().filter(|(id, share)| share.len() < quotas[*id]);
        if let Some((_, share)) = least.min_by_key(|(_, share)| share.len()) {
            share.push(lease);
        }
    }
    for share in shares.values_mut() {
        share.sort_unstable();
    }
    shares
}

/// So many of the leases, from all over them: neighbours are to have different holders.
fn thinned(leases: &[i32], quota: usize) -> Vec<i32> {
    let quota = quota.min(leases.len());
    (0..quota).map(|place| leases[place * leases.len() / quota]).collect()
}

/// How many leases each member is to have; those with more now get what is left over.
fn quotas(leases: i32, claims: &BTreeMap<String, Claim>) -> BTreeMap<String, usize> {
    let leases = usize::try_from(leases).unwrap_or_default();
    let members = claims.len().max(1);
    let mut order: Vec<(&String, &Claim)> = claims.iter().collect();
    let has = |claim: &Claim| claim.held.len().max(claim.before.len());
    order.sort_by_key(|(id, claim)| (std::cmp::Reverse(has(claim)), *id));
    let quota = |(place, (id, _)): (usize, &(&String, &Claim))| {
        ((*id).clone(), leases / members + usize::from(place < leases % members))
    };
    order.iter().enumerate().map(quota).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claims(held: &[(&str, &[i32])]) -> BTreeMap<String, Claim> {
        let claim =
            |held: &[i32]| Claim { held: held.iter().copied().collect(), ..Claim::default() };
        held.iter().map(|(id, held)| ((*id).to_owned(), claim(held))).collect()
    }

    fn then(shares: &BTreeMap<String, Vec<i32>>) -> BTreeMap<String, Claim> {
        let claim =
            |share: &Vec<i32>| Claim { held: share.iter().copied().collect(), ..Claim::default() };
        shares.iter().map(|(id, share)| (id.clone(), claim(share))).collect()
    }

    #[test]
    fn a_group_that_begins_shares_evenly() {
        let shares = share(7, &claims(&[("a", &[]), ("b", &[]), ("c", &[])]));
        let mut counts: Vec<usize> = shares.values().map(Vec::len).collect();
        counts.sort_unstable();
        assert_eq!(counts, [2, 2, 3]);
        let all: BTreeSet<i32> = shares.values().flatten().copied().collect();
        assert_eq!(all.len(), 7);
    }

    #[test]
    fn neighbours_go_to_different_members() {
        let shares = share(8, &claims(&[("a", &[]), ("b", &[])]));
        assert_eq!(shares["a"], [0, 2, 4, 6]);
    }

    #[test]
    fn a_newcomer_gets_its_part_only_after_it_was_let_go() {
        let first = share(4, &claims(&[("a", &[0, 1, 2, 3]), ("b", &[])]));
        assert_eq!((first["a"].as_slice(), first["b"].as_slice()), (&[0, 2][..], &[][..]));
        let second = share(4, &then(&first));
        assert_eq!((second["a"].as_slice(), second["b"].as_slice()), (&[0, 2][..], &[1, 3][..]));
        assert_eq!(share(4, &then(&second)), second);
    }

    #[test]
    fn what_a_dead_member_had_is_shared_and_the_others_keep_theirs() {
        let shares = share(6, &claims(&[("a", &[0, 1]), ("b", &[2, 3])]));
        assert!(shares["a"].starts_with(&[0, 1]) && shares["b"].starts_with(&[2, 3]), "{shares:?}");
        assert_eq!(shares.values().map(Vec::len).collect::<Vec<_>>(), [3, 3]);
    }

    #[test]
    fn who_comes_back_gets_what_it_had() {
        let mut claims = claims(&[("a", &[0, 3]), ("b", &[]), ("c", &[])]);
        claims.entry("b".to_owned()).or_default().before = BTreeSet::from([1, 4]);
        claims.entry("c".to_owned()).or_default().before = BTreeSet::from([2, 5]);
        let shares = share(6, &claims);
        assert_eq!((shares["b"].as_slice(), shares["c"].as_slice()), (&[1, 4][..], &[2, 5][..]));
    }

    #[test]
    fn a_lease_with_two_holders_is_let_go_by_both() {
        let shares = share(2, &claims(&[("a", &[0]), ("b", &[0])]));
        assert!(!shares.values().flatten().any(|lease| *lease == 0), "{shares:?}");
    }
}
