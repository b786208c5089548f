import CommandLineKit
import Cryptography
import KeySlots
import Posix
import Unlocking

/// The passphrase of an archive, independent of the data directory's.
enum ArchivePassphrase {
    static let option = Option(
        "archive-passphrase-fd", named: "N", .text,
        "Read the archive's passphrase from this file descriptor instead of asking for it.")

    /// Reads it from the descriptor, or prompts for it. Blocks.
    /// - Parameter isNew: True for a new archive, whose passphrase is typed twice.
    static func read(_ invocation: Invocation, isNew: Bool) throws -> SecretBytes {
        if let given = try Ways.secret(invocation, option, UnlockingSecret.passphrase(from:)) {
            guard case .passphrase(let secret) = given else { preconditionFailure("a passphrase was read") }
            return secret
        }
        guard let secret = Question.secret("Passphrase of the archive: ") else {
            throw UsageError(
                "an archive needs a passphrase: without a terminal give --archive-passphrase-fd")
        }
        if isNew {
            guard let again = Question.secret("Repeat passphrase: "), again.isEqual(to: secret) else {
                throw Refusal("The two passphrases differ; repeat the command.")
            }
        }
        return secret
    }
}
