import Base
import FoundationEssentials

/// JSON on one line (RFC 8259).
enum JSONLine {
    static func encoded(_ value: some Encodable) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return PrintableJSON.escaping(String(decoding: try encoder.encode(value), as: UTF8.self))
    }

    static func decoded<Value: Decodable>(_ type: Value.Type, from bytes: [UInt8]) throws -> Value {
        try JSONDecoder().decode(type, from: Data(bytes))
    }

    /// Encodes the members on one line in the given order.
    static func object(_ members: [(name: String, value: String)]) -> String {
        let members = members.map { "\(quoted($0.name)):\(quoted($0.value))" }
        return PrintableJSON.escaping("{" + members.joined(separator: ",") + "}")
    }

    private static func quoted(_ text: String) -> String { QuotedText.quote(text, isShort: false) }
}
