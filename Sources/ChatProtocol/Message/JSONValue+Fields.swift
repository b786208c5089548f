import Base
import JSON

/// Typed fields of messages. A missing or invalid field is nil.
extension JSONValue {
    var messageID: SharedMessageID? { string.flatMap { SharedMessageID(text: $0) } }
    var memberID: MemberID? { string.flatMap { MemberID(text: $0) } }
    var time: Timestamp? { string.flatMap { Timestamp(iso8601: $0) } }

    /// A name chosen by another person, truncated; not sanitised.
    var name: String? { string.map { $0.beginning(bytes: ProtocolLimits.name) } }

    /// A link of permitted length.
    var link: String? { string.flatMap { $0.utf8.count <= ProtocolLimits.link ? $0 : nil } }

    /// An image data URI of permitted length.
    func picture(limit: Int) -> String? {
        string.flatMap { $0.utf8.count <= limit && $0.hasPrefix("data:image/") ? $0 : nil }
    }

    /// `1-16`, or `7` for a single version.
    var versions: ClosedRange<UInt16>? {
        guard let text = string, text.utf8.count <= 11 else { return nil }
        let ends = text.split(separator: "-", omittingEmptySubsequences: false).map { UInt16($0) }
        guard ends.count <= 2, let first = ends.first ?? nil, let last = ends.last ?? nil, first <= last
        else {
            return nil
        }
        return first...last
    }
}

/// Typed fields for writing.
extension JSONText {
    static func string(_ id: SharedMessageID) -> String { string(id.text) }
    static func string(_ id: MemberID) -> String { string(id.text) }

    static func string(_ versions: ClosedRange<UInt16>) -> String {
        let (first, last) = (versions.lowerBound, versions.upperBound)
        return string(first == last ? "\(first)" : "\(first)-\(last)")
    }

    static func bool(_ value: Bool) -> String { value ? "true" : "false" }

    /// For fields that are written only if true.
    static func flag(_ value: Bool) -> String? { value ? "true" : nil }

    static func picture(_ uri: String, limit: Int) -> String? {
        uri.isEmpty || uri.utf8.count > limit ? nil : string(uri)
    }
}
