import CToml

/// A value of a TOML document, with the line that it begins on.
///
/// Parsed by toml++. Floating-point numbers, dates and times have no meaning in a configuration, so their
/// values are not kept.
public struct TOMLValue: Sendable {
    /// A key of a table with its value. Keys of a table differ.
    public struct Entry: Sendable {
        public var key: String
        public var value: TOMLValue
    }

    public enum Content: Sendable {
        /// Its entries in the order of their lines.
        case table([Entry])
        case array([TOMLValue])
        case string(String)
        case integer(Int64)
        case boolean(Bool)
        /// A floating-point number, a date or a time.
        case other
    }

    /// From 1 on.
    public var line: Int
    public var content: Content

    /// The entries of the document.
    ///
    /// - Parameter text: UTF-8. Other bytes are an error.
    /// - Throws: `syntax` with the line.
    public static func parse(_ text: [UInt8]) throws(ConfigurationError) -> [Entry] {
        var builder = Builder()
        var failure = ctoml_failure()
        let status = withUnsafeMutablePointer(to: &builder) { builder in
            text.withUnsafeBytes { text in
                ctoml_parse(
                    text.baseAddress?.assumingMemoryBound(to: CChar.self), text.count, builder,
                    { context, event in
                        // The context is the builder of this call, the event lives as long as this closure.
                        guard let context, let event else { return }
                        context.assumingMemoryBound(to: Builder.self).pointee.add(event.pointee)
                    }, &failure)
            }
        }
        guard status == 0 else {
            let message = withUnsafeBytes(of: failure.message) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            throw ConfigurationError(.syntax, "Line \(failure.line): \(message)")
        }
        return builder.finish()
    }

    /// Makes values of events, which come in the order of the document: a table or an array before its content.
    private struct Builder {
        private struct Level {
            var entry: Entry
            var isArray: Bool
            var content: [Entry] = []

            func finished() -> Entry {
                var entry = entry
                entry.value.content = isArray ? .array(content.map(\.value)) : .table(content)
                return entry
            }
        }

        private var document: [Entry] = []
        private var open: [Level] = []

        mutating func add(_ event: ctoml_event) {
            while open.count > Int(event.depth) { closeLast() }
            let key = Self.text(event.key, event.key_length)
            let text = Self.text(event.text, event.text_length)
            var value = TOMLValue(line: Int(event.line), content: .other)
            switch UInt32(event.kind) {
            case CTOML_TABLE.rawValue, CTOML_ARRAY.rawValue:
                let isArray = UInt32(event.kind) == CTOML_ARRAY.rawValue
                open.append(Level(entry: Entry(key: key, value: value), isArray: isArray))
                return
            case CTOML_STRING.rawValue: value.content = .string(text)
            case CTOML_INTEGER.rawValue: value.content = Int64(text).map(Content.integer) ?? .other
            case CTOML_BOOLEAN.rawValue: value.content = .boolean(text == "true")
            default: break
            }
            append(Entry(key: key, value: value))
        }

        mutating func finish() -> [Entry] {
            while !open.isEmpty { closeLast() }
            return document
        }

        private mutating func closeLast() {
            append(open.removeLast().finished())
        }

        private mutating func append(_ entry: Entry) {
            if open.isEmpty { document.append(entry) } else { open[open.count - 1].content.append(entry) }
        }

        private static func text(_ start: UnsafePointer<CChar>?, _ count: Int) -> String {
            String(decoding: UnsafeRawBufferPointer(start: start, count: count), as: UTF8.self)
        }
    }
}
