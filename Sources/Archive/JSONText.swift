import Base
import FoundationEssentials

/// The JSON of this target's manifests.
enum JSONText {
    /// Equal values give equal bytes.
    static func encoded(_ value: some Encodable, isForPeople: Bool = false) -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting =
            isForPeople
            ? [.sortedKeys, .withoutEscapingSlashes, .prettyPrinted] : [.sortedKeys, .withoutEscapingSlashes]
        // Numbers and strings can always be encoded.
        return Array(
            PrintableJSON.escaping(String(decoding: (try? encoder.encode(value)) ?? Data(), as: UTF8.self))
                .utf8)
    }

    /// Returns nil for invalid JSON.
    static func decoded<Value: Decodable>(_ type: Value.Type, from bytes: [UInt8]) -> Value? {
        try? JSONDecoder().decode(type, from: Data(bytes))
    }
}
