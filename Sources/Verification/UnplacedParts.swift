import Base
import ChatCore
import EmbeddedCore
import Posix

/// Databases that are missing together with an official core's whole directory, so that no place remains to verify.
public enum UnplacedParts {
    /// Lists the missing databases by directory. Blocks.
    /// - Parameters:
    ///   - places: Places that are verified separately.
    ///   - isReplacing: True to continue without the databases.
    /// - Returns: Records by directory name; empty if none is missing.
    /// - Throws: `.storage`, `.file(.noSpace)`.
    public static func records(
        in directory: DataDirectory, besides places: [VerifiedPlace], isReplacing: Bool
    ) throws(ChatError) -> [(name: String, record: VerificationRecord)] {
        let parts = try directory.missingParts().filter { part in
            !places.contains { $0.databases.contains(part) }
        }
        if isReplacing, !parts.isEmpty { try directory.giveUp(parts: parts) }
        let time = SystemWallClock().now().seconds
        return Dictionary(grouping: parts) { $0.pathNames.first ?? $0 }.sorted { $0.key < $1.key }.map {
            name, parts in
            let findings = parts.map { part in
                Finding(
                    .missing, part,
                    detail: "It held \(DirectoryPart(at: part)?.content ?? "data without another copy")",
                    outcome: isReplacing ? .replaced : .replaceable)
            }
            return (
                name, VerificationRecord(time: time, databases: 0, files: 0, bytes: 0, findings: findings)
            )
        }
    }
}
