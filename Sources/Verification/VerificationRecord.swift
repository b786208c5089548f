import Base
import FoundationEssentials
import Glibc
import Posix

/// What a verification of a profile found, and when.
public struct VerificationRecord: Codable, Hashable, Sendable {
    /// When it ended, seconds since 1970.
    public var time: Int64
    /// Databases and files that were read to their ends.
    public var databases: Int
    public var files: Int
    /// Bytes of those files.
    public var bytes: UInt64
    public var findings: [Finding]

    public init(time: Int64, databases: Int, files: Int, bytes: UInt64, findings: [Finding]) {
        self.time = time
        self.databases = databases
        self.files = files
        self.bytes = bytes
        self.findings = findings
    }

    /// How many findings are still to be done something about.
    public var unsettled: Int { findings.count { !$0.isSettled } }

    /// JSON in UTF-8.
    public var encoded: [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        // Only numbers and strings: encoding them cannot fail.
        return Array((try? encoder.encode(self)) ?? Data())
    }
}

/// What is kept of a verification in the folder of its profile (`verified.json`, 0600) until the next: numbers only, as
/// the file is not encrypted and names are.
public struct VerificationSummary: Codable, Hashable, Sendable {
    public var time: Int64
    public var databases: Int
    public var files: Int
    public var bytes: UInt64
    /// Findings that are still to be done something about.
    public var unsettled: Int

    public init(_ record: VerificationRecord) {
        (time, databases, files, bytes) = (record.time, record.databases, record.files, record.bytes)
        unsettled = record.unsettled
    }

    private static let name = "verified.json"
    private static let longest = 4 << 10

    /// Keeps it in a profile's folder in place of the one before. Blocks.
    /// - Throws: as `PrivateFolder.write`, and where there is no such folder.
    public func write(toProfileFolder path: String) throws(SystemError) {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys]
        // Only numbers: encoding them cannot fail.
        let bytes = Array((try? encoder.encode(self)) ?? Data())
        let folder = try OpenFile(path, flags: O_RDONLY | O_DIRECTORY | O_NOFOLLOW)
        try PrivateFolder.write(bytes, to: Self.name, in: folder)
    }

    /// The one in a profile's folder; nil where nothing was verified, and for what is none. Blocks.
    public static func read(profileFolder path: String) -> VerificationSummary? {
        guard let file = try? OpenFile("\(path)/\(name)", flags: O_RDONLY | O_NOFOLLOW),
            let bytes = try? file.readAll(limit: longest)
        else { return nil }
        return try? JSONDecoder().decode(VerificationSummary.self, from: Data(bytes))
    }
}
