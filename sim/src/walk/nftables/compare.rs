//! Comparing values with constants, and computing with them. Pure functions of what is known.

use kps_ruleset::nftables::{BinaryOp, NumgenMode, Relation};
use num_rational::Ratio;
use smallvec::SmallVec;

use super::lookup::fits;
use super::program::{Expr, Right, Test};
use crate::mark::Mark;
use crate::walk::branch::scaled_start;
use crate::walk::datum::{Datum, Pattern};

/// Compares values with constants; `None` if the model cannot tell.
pub(super) fn compare(left: &[Datum], relation: Relation, right: &[Pattern]) -> Option<bool> {
    match relation {
        Relation::Equal => fits(right, left),
        Relation::NotEqual => fits(right, left).map(|fits| !fits),
        Relation::AnyBit => any_bit(left, right),
        _ => ordered(left, relation, right),
    }
}

fn any_bit(left: &[Datum], right: &[Pattern]) -> Option<bool> {
    let (&[left], &[Pattern::Range(bits, _)]) = (left, right) else { return None };
    let common = bitwise(left, BinaryOp::And, Datum::Number(bits));
    Pattern::exactly(0_u8).fits(common).map(|none| !none)
}

fn ordered(left: &[Datum], relation: Relation, right: &[Pattern]) -> Option<bool> {
    let (&[Datum::Number(n)], &[Pattern::Range(bound, _)]) = (left, right) else { return None };
    Some(match relation {
        Relation::Less => n < bound,
        Relation::LessEqual => n <= bound,
        Relation::Greater => n > bound,
        _ => n >= bound,
    })
}

/// Computes with two values. Bits that are surely 0 or 1 are known even if the rest is not.
pub(super) fn bitwise(left: Datum, op: BinaryOp, right: Datum) -> Datum {
    if let (Datum::Number(a), Datum::Number(b)) = (left, right) {
        return Datum::Number(number(a, op, b));
    }
    let (a, b) = (left.as_mark(), right.as_mark());
    let mark = match op {
        BinaryOp::And => a.and(b),
        BinaryOp::Or => a.or(b),
        BinaryOp::Xor => a.xor(b),
        BinaryOp::ShiftLeft | BinaryOp::ShiftRight => Mark::UNKNOWN,
    };
    mark.into()
}

fn number(a: u128, op: BinaryOp, b: u128) -> u128 {
    let by = u32::try_from(b).unwrap_or(u32::MAX);
    match op {
        BinaryOp::And => a & b,
        BinaryOp::Or => a | b,
        BinaryOp::Xor => a ^ b,
        BinaryOp::ShiftLeft => a.checked_shl(by).unwrap_or(0),
        BinaryOp::ShiftRight => a.checked_shr(by).unwrap_or(0),
    }
}

/// Returns the patterns that fit just these values.
pub(super) fn patterns_of(values: &[Datum]) -> SmallVec<[Pattern; 2]> {
    values.iter().map(Into::into).collect()
}

/// Returns the exact probability of a test on a random number, if that is what it is: two branches
/// then do for all alternatives.
pub(super) fn draw_share(left: &Expr, test: &Test) -> Option<Ratio<u64>> {
    let (Expr::Numgen(NumgenMode::Random, modulus, offset), Right::Constant(right)) =
        (left, &test.right)
    else {
        return None;
    };
    let &[Pattern::Range(low, high)] = right.as_slice() else { return None };
    let below = |bound: u128| {
        let index = bound.saturating_sub(u128::from(*offset)).min(u128::from(*modulus));
        scaled_start(u64::try_from(index).unwrap_or(u64::MAX), *modulus)
    };
    let within = |low: u128, high: u128| below(high.saturating_add(1)) - below(low);
    let all = 1 << 32;
    let favourable = match test.relation {
        Relation::Equal => within(low, high),
        Relation::NotEqual => all - within(low, high),
        Relation::Less => below(low),
        Relation::LessEqual => below(low.saturating_add(1)),
        Relation::Greater => all - below(low.saturating_add(1)),
        Relation::GreaterEqual => all - below(low),
        Relation::AnyBit => return None,
    };
    Some(Ratio::new(favourable, all))
}

#[cfg(test)]
mod tests {
    use kps_ruleset::Name;

    use super::*;

    fn draw(modulus: u32, offset: u32) -> Expr {
        Expr::Numgen(NumgenMode::Random, modulus, offset)
    }

    fn share(expr: &Expr, relation: Relation, low: u128, high: u128) -> Option<Ratio<u64>> {
        let right = Right::Constant([Pattern::Range(low, high)].into_iter().collect());
        draw_share(expr, &Test { relation, right })
    }

    #[test]
    fn the_share_of_a_test_on_a_draw_is_exact() {
        let half = Some(Ratio::new(1, 2));
        assert_eq!(share(&draw(4, 0), Relation::Less, 2, 2), half);
        assert_eq!(share(&draw(4, 10), Relation::GreaterEqual, 12, 12), half);
        assert_eq!(share(&draw(4, 0), Relation::Equal, 1, 2), half);
        assert_eq!(share(&draw(4, 0), Relation::NotEqual, 0, 1), half);
        let third = Ratio::new(1_431_655_766, 1 << 32);
        assert_eq!(share(&draw(3, 0), Relation::Equal, 0, 0), Some(third));
    }

    #[test]
    fn masks_see_through_unknown_bits() {
        let unknown = Datum::Unknown(Name::new("x"));
        let zero = bitwise(unknown, BinaryOp::And, Datum::Number(0));
        assert_eq!(zero, Datum::Number(0));
        let set = bitwise(unknown, BinaryOp::Or, Datum::Number(4));
        let bit = [Pattern::exactly(4_u8)];
        assert_eq!(compare(&[set], Relation::AnyBit, &bit), Some(true));
        assert_eq!(compare(&[unknown], Relation::AnyBit, &bit), None);
    }
}
