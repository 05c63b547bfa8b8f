//! Accounting of tokens and money: from a model's usage to what the store adds up, and back to the wire.

use model::Usage;
use protocol::signal::stream::Cost;
use store::runs::Used;

/// Billionths of a dollar in a dollar.
const NANO: f64 = 1e9;

/// What is added to a run's row.
pub(crate) fn used(usage: &Usage) -> Used {
    let cost = &usage.cost;
    let parts = [cost.input, cost.output, cost.cache_read, cost.cache_write].map(money);
    let (sum, total) = (parts.iter().sum::<f64>(), money(cost.total));
    // A provider that tells its own price gives only the whole; the parts are made to add up to it.
    let [input, output, cache_read, cache_write] = match (sum > 0.0, total > 0.0) {
        (true, true) => parts.map(|part| part * (total / sum)),
        (false, true) => [0.0, total, 0.0, 0.0],
        _ => parts,
    };
    Used {
        input_tokens: whole(usage.input),
        output_tokens: whole(usage.output),
        cache_read_tokens: whole(usage.cache_read),
        cache_write_tokens: whole(usage.cache_write),
        input_nano: nano(input),
        output_nano: nano(output),
        cache_read_nano: nano(cache_read),
        cache_write_nano: nano(cache_write),
    }
}

/// What the wire shows of it.
pub(crate) fn usage(used: &Used) -> Usage {
    let tokens = |count: i64| count.max(0) as u64;
    let dollars = |nano: i64| nano as f64 / NANO;
    let counts =
        [used.input_tokens, used.output_tokens, used.cache_read_tokens, used.cache_write_tokens].map(tokens);
    Usage {
        input: counts[0],
        output: counts[1],
        cache_read: counts[2],
        cache_write: counts[3],
        total_tokens: counts.into_iter().fold(0, u64::saturating_add),
        cost: Cost {
            input: dollars(used.input_nano),
            output: dollars(used.output_nano),
            cache_read: dollars(used.cache_read_nano),
            cache_write: dollars(used.cache_write_nano),
            total: dollars(total_nano(used)),
        },
    }
}

/// All money together.
pub(crate) fn total_nano(used: &Used) -> i64 {
    let parts = [used.input_nano, used.output_nano, used.cache_read_nano, used.cache_write_nano];
    parts.into_iter().fold(0, i64::saturating_add)
}

/// Both together.
pub(crate) fn sum(a: &Used, b: &Used) -> Used {
    let add = i64::saturating_add;
    Used {
        input_tokens: add(a.input_tokens, b.input_tokens),
        output_tokens: add(a.output_tokens, b.output_tokens),
        cache_read_tokens: add(a.cache_read_tokens, b.cache_read_tokens),
        cache_write_tokens: add(a.cache_write_tokens, b.cache_write_tokens),
        input_nano: add(a.input_nano, b.input_nano),
        output_nano: add(a.output_nano, b.output_nano),
        cache_read_nano: add(a.cache_read_nano, b.cache_read_nano),
        cache_write_nano: add(a.cache_write_nano, b.cache_write_nano),
    }
}

/// What a provider said something cost; nonsense costs nothing.
fn money(dollars: f64) -> f64 {
    if dollars.is_finite() && dollars > 0.0 { dollars } else { 0.0 }
}

fn nano(dollars: f64) -> i64 {
    // A cast of a float stops at the largest number.
    (dollars * NANO).round() as i64
}

fn whole(tokens: u64) -> i64 {
    i64::try_from(tokens).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spent(parts: [f64; 4], total: f64) -> Usage {
        let [input, output, cache_read, cache_write] = parts;
        let cost = Cost { input, output, cache_read, cache_write, total };
        Usage { input: 10, output: 20, cache_read: 30, cache_write: 40, total_tokens: 100, cost }
    }

    #[test]
    fn usage_comes_back_as_it_went_in() {
        let before = spent([0.000_003, 0.3, 0.000_000_001, 0.0], 0.300_003_001);
        let used = used(&before);
        assert_eq!((used.input_nano, used.output_nano, used.cache_read_nano), (3_000, 300_000_000, 1));
        assert_eq!(usage(&used), before);
    }

    #[test]
    fn a_told_price_is_the_sum_of_the_parts() {
        assert_eq!(total_nano(&used(&spent([0.1, 0.3, 0.0, 0.0], 0.2))), 200_000_000);
        assert_eq!(used(&spent([0.0; 4], 0.25)).output_nano, 250_000_000);
    }

    #[test]
    fn nonsense_costs_nothing_and_large_numbers_stop() {
        assert_eq!(total_nano(&used(&spent([f64::NAN, -1.0, 0.0, 0.0], f64::INFINITY))), 0);
        let huge = Usage { input: u64::MAX, ..spent([0.0, 1e300, 0.0, 0.0], 1e300) };
        let used = used(&huge);
        assert_eq!((used.input_tokens, used.output_nano), (i64::MAX, i64::MAX));
        assert_eq!(sum(&used, &used).output_nano, i64::MAX);
    }
}
