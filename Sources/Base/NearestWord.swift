/// Finds the known word nearest to a mistyped one.
public enum NearestWord {
    /// Returns the word with the fewest edits, at most a third of its letters, or one with `word` as its beginning.
    public static func nearest(to word: String, among known: [String]) -> String? {
        let limit = max(1, word.filter { $0 != "-" }.count / 3)
        // Case differences are no edits.
        let lower = word.lowercased()
        let ranked = known.map { (word: $0, distance: distance(lower, $0.lowercased())) }
        if let best = ranked.min(by: { $0.distance < $1.distance }), best.distance <= limit {
            return best.word
        }
        return word.count >= 3 ? known.first { $0.lowercased().hasPrefix(lower) } : nil
    }

    /// Returns the number of insertions, deletions, replacements and swaps of neighbours between two words (optimal
    /// string alignment).
    static func distance(_ left: String, _ right: String) -> Int {
        let a = Array(left)
        let b = Array(right)
        guard !a.isEmpty, !b.isEmpty else { return max(a.count, b.count) }
        var beforeLast: [Int] = []
        var last = Array(0...b.count)
        for i in 1...a.count {
            var row = [i]
            for j in 1...b.count {
                var best = min(last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1))
                if i > 1, j > 1, a[i - 1] == b[j - 2], a[i - 2] == b[j - 1] {
                    best = min(best, beforeLast[j - 2] + 1)
                }
                row.append(best)
            }
            beforeLast = last
            last = row
        }
        return last[b.count]
    }
}
