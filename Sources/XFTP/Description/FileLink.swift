import Base
import Posix

/// A file description as a link: `simplex:/file#/?desc=<description>[&data=<JSON>]`, or with
/// `https://simplex.chat/file#/`. Also parses a relay's web link, `https://HOST/#<description, DEFLATE, base64url>`.
/// Grants access to the file. Secret.
public struct FileLink: Hashable, Sendable {
    public var fileDescription: FileDescription
    /// JSON of the application, not interpreted.
    public var data: String?

    private static let simplexScheme = "simplex:/file"
    private static let webScheme = "https://simplex.chat/file"
    /// The longest accepted link in bytes: the longest description, percent-encoded.
    public static let longest = 8 << 20

    public init(_ description: FileDescription, data: String? = nil) {
        fileDescription = description
        self.data = data
    }

    /// Parses a link on a pool thread.
    /// - Throws: `.malformedDescription`.
    public static func parse(_ text: String) async throws(XFTPError) -> FileLink {
        try await ThreadPool.shared.run { () throws(XFTPError) in try FileLink(parsing: text) }
    }

    /// - Throws: `.malformedDescription`, also for the description in the link.
    public init(parsing text: some StringProtocol) throws(XFTPError) {
        func malformed(_ reason: String) -> XFTPError {
            XFTPError(.malformedDescription, "Not a file link: \(reason).")
        }
        guard text.utf8.count <= Self.longest else { throw malformed("it is too long") }
        if let packed = Self.packedDescription(of: text) {
            fileDescription = try FileDescription(parsing: try Self.unpacked(packed))
            data = nil
            return
        }
        guard let start = [Self.simplexScheme, Self.webScheme].first(where: { text.hasPrefix($0) }) else {
            throw malformed("it does not begin with \(Self.simplexScheme)")
        }
        var rest = Substring(String(text.dropFirst(start.count)))
        if rest.hasPrefix("/") { rest = rest.dropFirst() }
        guard rest.hasPrefix("#/?") || rest.hasPrefix("#?"), let mark = rest.firstIndex(of: "?") else {
            throw malformed("it has no description")
        }
        var fields: [String: String] = [:]
        for field in rest[rest.index(after: mark)...].split(separator: "&") {
            let parts = field.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2, let value = PercentEncoding.decode(parts[1], plusIsSpace: true) else {
                throw malformed("a field is not percent-coded text")
            }
            guard fields.updateValue(value, forKey: String(parts[0])) == nil else {
                throw malformed("a field is there twice")
            }
        }
        guard let description = fields["desc"] else { throw malformed("it has no description") }
        fileDescription = try FileDescription(parsing: description)
        data = fields["data"]
    }

    // MARK: - Web links

    /// The longest description in a web link in bytes, packed or not.
    static let longestUnpacked = 1 << 20

    /// Returns the part after the `#` of a web link, or nil for other links. The host is ignored, since the description
    /// names the relays.
    private static func packedDescription(of text: some StringProtocol) -> Substring? {
        guard text.hasPrefix("https://"), !text.hasPrefix(webScheme) else { return nil }
        let rest = Substring(String(text.dropFirst("https://".count)))
        guard let mark = rest.firstIndex(of: "#") else { return nil }
        var host = rest[..<mark]
        if host.last == "/" { host.removeLast() }
        guard !host.isEmpty, !host.contains("/") else { return nil }
        return rest[rest.index(after: mark)...]
    }

    private static func unpacked(_ packed: Substring) throws(XFTPError) -> String {
        func malformed(_ reason: String) -> XFTPError {
            XFTPError(.malformedDescription, "Not a file link: \(reason).")
        }
        guard packed.utf8.count <= longestUnpacked * 3 / 2, let compressed = Base64URL.decode(packed) else {
            throw malformed("it is cut off or too long")
        }
        let bytes: [UInt8]
        do throws(Inflate.Failure) {
            bytes = try Inflate.decode(compressed, limit: longestUnpacked)
        } catch {
            throw malformed(
                error == .tooLong ? "its description is longer than 1 MiB" : "its description is damaged")
        }
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw malformed("its description is no text")
        }
        return text
    }

    // MARK: - Text

    /// The link with the `simplex:` scheme.
    public var text: String {
        let description = PercentEncoding.encode(fileDescription.text)
        return Self.simplexScheme + "#/?desc=" + description
            + (data.map { "&data=" + PercentEncoding.encode($0) } ?? "")
    }

    /// Returns whether the text looks like a link rather than a path.
    public static func looksLikeLink(_ text: String) -> Bool {
        text.hasPrefix(simplexScheme) || text.hasPrefix("https://")
    }
}
