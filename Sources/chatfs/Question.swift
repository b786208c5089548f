import CommandLineKit
import Cryptography
import Glibc
import Unlocking

/// Prompts on the terminal.
enum Question {
    static var canBeAsked: Bool { Terminal.isTerminal(STDIN_FILENO) && Terminal.isTerminal(STDERR_FILENO) }

    /// Reads a line; nil without a terminal or an answer. Blocks.
    /// - Parameter prompt: May contain names chosen by other people.
    static func line(_ prompt: String) -> String? {
        guard canBeAsked else { return nil }
        Terminal.write(PrintableText.escaping(prompt), to: STDERR_FILENO)
        return readLine(strippingNewline: true).flatMap { $0.isEmpty ? nil : $0 }
    }

    /// Reads a line without echo. Blocks.
    static func secret(_ prompt: String) -> SecretBytes? {
        guard canBeAsked else { return nil }
        return SilentTerminal.whileSilent {
            Terminal.write(prompt, to: STDERR_FILENO)
            // An unreadable secret counts as a wrong one, which the database reports.
            let secret = try? Passphrase.read(from: STDIN_FILENO, line: true)
            return secret.flatMap { $0.count > 0 ? $0 : nil }
        }
    }

    /// True if a prompt can be answered; a background process would be stopped.
    static var isPossible: Bool { canBeAsked && tcgetpgrp(STDIN_FILENO) == getpgrp() }

    /// True if there is a terminal, but reading would stop this process (`&` in a shell).
    static var isInBackground: Bool { canBeAsked && !isPossible }

    static func passphrase(_ question: Ways.Passphrase) -> SecretBytes? {
        switch question {
        case .present: secret("Passphrase for \(subject): ")
        case .presentOnceMore: secret("Wrong passphrase. Passphrase for \(subject):  ")
        case .new: newPassphrase()
        case .again: secret("Repeat passphrase: ")
        }
    }

    /// Distinguishes the passphrase from SimpleX's.
    private static let subject = "ChatFS' data, not your SimpleX one"

    /// Accepts a weak passphrase with a warning.
    private static func newPassphrase() -> SecretBytes? {
        let typed = secret("New passphrase for \(subject): ")
        if let typed, let weakness = PassphraseStrength.weakness(of: typed) {
            Terminal.complain("chatfs: this passphrase is weak: \(weakness)")
        }
        return typed
    }
}
