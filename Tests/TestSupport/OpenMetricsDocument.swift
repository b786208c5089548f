/// A text in the form of OpenMetrics 1.0, checked against its grammar and its rules for families.
public struct OpenMetricsDocument {
    /// Values by sample, such as `chatfs_requests_total{operation="read"}`.
    public private(set) var values: [String: Double] = [:]
    /// Kinds by family.
    public private(set) var kinds: [String: String] = [:]

    private var family = ""
    private var metadata: Set<Substring> = []
    /// The last bucket of the present histogram: its labels without `le`, its bound and its count.
    private var bucket: (labels: String, bound: Double, count: Double)?

    /// - Throws: `WaitedInVain` with the first line that violates a rule.
    public init(_ text: String) throws {
        guard text.hasSuffix("\n# EOF\n") || text == "# EOF\n" else {
            throw WaitedInVain("the text does not end with # EOF")
        }
        for line in text.dropLast("# EOF\n".count).split(separator: "\n", omittingEmptySubsequences: false)
            .dropLast()
        {
            do {
                if line.hasPrefix("# ") { try addMetadata(line) } else { try addSample(line) }
            } catch {
                throw WaitedInVain("\(error): \(line)")
            }
        }
    }

    private mutating func addMetadata(_ line: Substring) throws {
        guard let match = line.wholeMatch(of: /# (TYPE|UNIT|HELP) ([a-zA-Z_:][a-zA-Z0-9_:]*) (.*)/) else {
            throw WaitedInVain("no metadata")
        }
        let (kind, name, text) = (match.1, String(match.2), match.3)
        if name != family {
            guard kinds[name] == nil else { throw WaitedInVain("the family is split") }
            (family, metadata) = (name, [])
            kinds[name] = "unknown"
        }
        guard metadata.insert(kind).inserted else { throw WaitedInVain("repeated metadata") }
        guard !values.keys.contains(where: { $0.hasPrefix(name + "{") || $0 == name }) else {
            throw WaitedInVain("metadata after a sample")
        }
        switch kind {
        case "TYPE":
            guard ["counter", "gauge", "histogram"].contains(text) else { throw WaitedInVain("unknown type") }
            kinds[name] = String(text)
        case "UNIT":
            guard name.hasSuffix("_\(text)") else { throw WaitedInVain("the name does not end in the unit") }
        default:
            guard text.wholeMatch(of: /([^\\"]|\\[\\n"])*/) != nil else {
                throw WaitedInVain("unescaped help")
            }
        }
    }

    private mutating func addSample(_ line: Substring) throws {
        let form = /([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)/
        guard let match = line.wholeMatch(of: form), let value = Double(match.3) else {
            throw WaitedInVain("no sample")
        }
        let (name, labels) = (match.1, match.2 ?? "")
        let one = /[a-zA-Z_][a-zA-Z0-9_]*="(?:[^\\"\n]|\\[\\n"])*"/
        let parts = labels.matches(of: one).map { String($0.0) }
        guard parts.joined(separator: ",") == labels else { throw WaitedInVain("malformed labels") }
        guard Set(parts.map { $0.prefix { $0 != "=" } }).count == parts.count else {
            throw WaitedInVain("a label is repeated")
        }
        guard name.hasPrefix(family) else { throw WaitedInVain("a sample of another family") }
        let suffix = name.dropFirst(family.count)
        let allowed: [Substring] =
            switch kinds[family] {
            case "counter": ["_total"]
            case "gauge": [""]
            case "histogram": ["_bucket", "_count", "_sum"]
            default: []
            }
        guard allowed.contains(suffix) else { throw WaitedInVain("wrong suffix for \(kinds[family] ?? "")") }
        guard kinds[family] == "gauge" || value >= 0 else { throw WaitedInVain("a negative count") }
        let key = labels.isEmpty ? String(name) : "\(name){\(labels)}"
        guard values.updateValue(value, forKey: key) == nil else { throw WaitedInVain("repeated sample") }
        if suffix == "_bucket" { try addBucket(parts, value) }
        if suffix == "_count" {
            guard bucket?.bound == .infinity, bucket?.count == value else {
                throw WaitedInVain("the count differs from the last bucket")
            }
            bucket = nil
        }
    }

    private mutating func addBucket(_ labels: [String], _ count: Double) throws {
        let others = labels.filter { !$0.hasPrefix("le=") }.joined(separator: ",")
        guard let text = labels.first(where: { $0.hasPrefix("le=") })?.dropFirst(4).dropLast(),
            let bound = text == "+Inf" ? .infinity : Double(text)
        else { throw WaitedInVain("a bucket without a bound") }
        if let bucket, bucket.labels == others {
            guard bucket.bound < bound, bucket.count <= count else {
                throw WaitedInVain("buckets are not cumulative")
            }
        } else if bucket != nil {
            throw WaitedInVain("a histogram without its count")
        }
        bucket = (others, bound, count)
    }
}
