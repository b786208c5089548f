import FoundationEssentials

/// For programs: `{"date", "quick", "machine": {…}, "rows": […], "not_measured": […]}`. Missing fields of a row are
/// null.
extension Report: Encodable {
    var json: String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        // Only finite numbers and strings, so encoding cannot fail.
        let data = (try? encoder.encode(self)) ?? Data()
        return String(decoding: data, as: UTF8.self) + "\n"
    }

    private enum Key: String, CodingKey {
        case date, quick, machine, rows
        case gaps = "not_measured"
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Key.self)
        try container.encode(date, forKey: .date)
        try container.encode(isQuick, forKey: .quick)
        let facts = Dictionary(machine.map { ($0.name, $0.value) }) { first, _ in first }
        try container.encode(facts, forKey: .machine)
        try container.encode(rows, forKey: .rows)
        try container.encode(gaps, forKey: .gaps)
    }
}

extension Row: Encodable {
    private enum Key: String, CodingKey {
        case measure, title, value, unit, samples, reference, ratio, target, met
        case referenceValue = "reference_value"
        case referenceSamples = "reference_samples"
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Key.self)
        try container.encode(name, forKey: .measure)
        try container.encode(title, forKey: .title)
        try container.encode(value, forKey: .value)
        try container.encode(unit.rawValue, forKey: .unit)
        try container.encode(samples, forKey: .samples)
        try container.encode(reference?.name, forKey: .reference)
        try container.encode(reference?.value, forKey: .referenceValue)
        try container.encode(reference?.samples, forKey: .referenceSamples)
        try container.encode(ratio, forKey: .ratio)
        try container.encode(target?.text(unit), forKey: .target)
        try container.encode(isMet, forKey: .met)
    }
}
