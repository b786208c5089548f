import Base
import FoundationEssentials
import Glibc
import Posix

/// The result of a profile's verification.
public struct VerificationRecord: Codable, Hashable, Sendable {
    /// End time in seconds since 1970.
    public var time: Int64
    /// Numbers of databases and files read to their ends.
    public var databases: Int
    public var files: Int
    /// Size of these files in bytes.
    public var bytes: UInt64
    public var findings: [Finding]

    public init(time: Int64, databases: Int, files: Int, bytes: UInt64, findings: [Finding]) {
        self.time = time
        self.databases = databases
        self.files = files
        self.bytes = bytes
        self.findings = findings
    }

    /// Number of findings that need action.
    public var unsettled: Int { findings.count { !$0.isSettled } }

    /// JSON in UTF-8.
    public var encoded: [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        // Numbers and strings: encoding cannot fail.
        return Array((try? encoder.encode(self)) ?? Data())
    }
}

/// The stored summary of a profile's last verification (`verified.json`, 0600). It contains only numbers, because the
/// file is not encrypted and names are.
public struct VerificationSummary: Codable, Hashable, Sendable {
    public var time: Int64
    public var databases: Int
    public var files: Int
    public var bytes: UInt64
    /// Number of findings that need action.
    public var unsettled: Int

    public init(_ record: VerificationRecord) {
        (time, databases, files, bytes) = (record.time, record.databases, record.files, record.bytes)
        unsettled = record.unsettled
    }

    private static let name = "verified.json"
    private static let longest = 4 << 10

    /// Replaces the summary in a profile's directory. Blocks.
    /// - Throws: The errors of `PrivateFolder.write`, or an error if the directory is missing.
    public func write(toProfileFolder path: String) throws(SystemError) {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys]
        // Numbers only: encoding cannot fail.
        let bytes = Array((try? encoder.encode(self)) ?? Data())
        let folder = try OpenFile(path, flags: O_RDONLY | O_DIRECTORY | O_NOFOLLOW)
        try PrivateFolder.write(bytes, to: Self.name, in: folder)
    }

    /// Reads the summary in a profile's directory; nil if there is none or it is invalid. Blocks.
    public static func read(profileFolder path: String) -> VerificationSummary? {
        guard let file = try? OpenFile("\(path)/\(name)", flags: O_RDONLY | O_NOFOLLOW),
            let bytes = try? file.readAll(limit: longest)
        else { return nil }
        return try? JSONDecoder().decode(VerificationSummary.self, from: Data(bytes))
    }
}
