import Base
import CommandLineKit
import Cryptography
import EmbeddedCore
import KeySlots
import Keyring
import Posix
import Unlocking

/// `chatfs key`: the ways to unlock the data directory.
enum KeyCommand {
    static let command = Command(
        "key", "Encrypt the data directory, and change how it is unlocked.",
        discussion: """
            One random key encrypts all databases of the data directory. It is stored wrapped once for each way to \
            unlock: a passphrase, a recovery code, a key in the desktop keyring, or a key of 32 bytes for --key-fd. \
            Changing one way leaves the others and the databases unchanged. The last way cannot be removed; if all of \
            them are lost, the data is lost.

            Commands unlock the data with a given secret (--passphrase-fd, --key-fd, --recovery-code-fd), else with a \
            systemd credential (chatfs.key or chatfs.passphrase in $CREDENTIALS_DIRECTORY), else with the keyring, \
            else they ask for the passphrase on the terminal.

            A new data directory is encrypted; 'chatfs key set' encrypts an older one.

            With --core, status, set, change and test apply to the database of an official core, which has one \
            passphrase and no other way. Only its library (lib:) can change the passphrase.
            """,
        section: CommandSection.chats,
        subcommands: [status, set, change, test, remember, forget, recovery])

    private static let newPassphrase = Option(
        "new-passphrase-fd", named: "N", .text,
        "Read the new passphrase from this file descriptor instead of asking for it twice.")

    private static let json = Option.flag("json", "For programs.")

    private static let common: [any OptionDeclaration] = [KeyTarget.relayFolder] + CommonOptions.directory

    private static let official: [any OptionDeclaration] = [
        CommonOptions.core, CommonOptions.database, CommonOptions.databasePassphrase,
    ]

    private static let status = Command(
        "status", "Show whether the data is encrypted, and the ways to unlock it.",
        options: [json, KeyTarget.relayFolder, CommonOptions.data] + official,
        examples: [Example("chatfs key status", "List the ways to unlock and their dates.")]
    ) { invocation in
        let isForPrograms = invocation[json]
        if let official = try OfficialKey(invocation) {
            return try await official.status(isForPrograms: isForPrograms)
        }
        let folder = try KeyTarget.folder(invocation)
        for line in try await ThreadPool.shared.run({
            try isForPrograms ? [KeyStatus(folder).json] : KeyStatus(folder).lines
        }) {
            Terminal.print(line)
        }
    }

    private static let set = Command(
        "set", "Add a passphrase, and encrypt unencrypted data.",
        discussion: """
            Encrypting copies every database, checks the copies, puts them in place, and overwrites and deletes the \
            originals. A flash drive or a filesystem with snapshots may keep old blocks. It needs space for a second \
            copy of the databases, and no other process may use the data meanwhile. After an interruption the next \
            command finishes the encryption or restores the old state.
            """,
        options: [newPassphrase] + common + official,
        examples: [Example("chatfs key set", "Ask for a new passphrase.")]
    ) { invocation in
        if let official = try OfficialKey(invocation) {
            return try await official.set(newPassphrase(from: invocation), isChange: false)
        }
        let target = try KeyTarget(invocation)
        let given = try newPassphrase(from: invocation)
        let isNew = try await ThreadPool.shared.run { () throws(any Error) in
            try target.encryption.finish()
            switch try target.folder.condition {
            case .new: throw DataDirectory.noProfile
            case .plain:
                try target.encryption.encrypt(for: passphrase(given))
                return true
            case .encrypted:
                let key = try target.folder.unlock(with: target.ways)
                try target.folder.add(passphrase(given), for: key)
                return false
            }
        }
        Terminal.note(
            isNew
                ? "chatfs: the data is encrypted now; 'chatfs key recovery' prints a code in case the "
                    + "passphrase is forgotten"
                : "chatfs: the passphrase now unlocks the data")
    }

    private static let change = Command(
        "change", "Replace the passphrase.",
        discussion:
            "Asks for the old passphrase, unless you give another way to unlock, such as the recovery code.",
        options: [newPassphrase, OfficialKey.forgotten] + common + official,
        examples: [
            Example("chatfs key change", "Ask for the old passphrase, and twice for the new one."),
            Example("chatfs key change --forgotten", "Ask for the recovery code instead."),
        ]
    ) { invocation in
        if let official = try OfficialKey(invocation) {
            return try await official.set(newPassphrase(from: invocation), isChange: true)
        }
        var target = try KeyTarget(invocation)
        // The user must prove knowledge of the passphrase.
        target.ways.keyring = nil
        target.ways.credentials = nil
        if invocation[OfficialKey.forgotten] {
            target.ways.named = try await recoveryCode(beside: target.ways.named)
        }
        let (folder, ways) = (target.folder, target.ways)
        let given = try newPassphrase(from: invocation)
        try await ThreadPool.shared.run {
            let key = try folder.unlock(with: ways)
            try folder.add(passphrase(given), for: key, replacing: [.passphrase])
        }
        Terminal.note("Passphrase changed.")
    }

    private static let test = Command(
        "test", "Check whether a passphrase, key or code unlocks the data.",
        discussion: "Ends with 0 if it does, else with 1. Changes nothing.",
        options: common + official,
        examples: [Example("chatfs key test", "Test whether the data can be unlocked now.")]
    ) { invocation in
        if let official = try OfficialKey(invocation) { return try await official.test() }
        let target = try KeyTarget(invocation)
        let result = await ThreadPool.shared.run { target.result() }
        guard result.kind == .ok else {
            Terminal.complain("chatfs: \(result.sentence)")
            throw ExitCode.failure
        }
        Terminal.print(result.sentence)
    }

    private static let remember = Command(
        "remember", "Store a key in the desktop keyring, so that it unlocks the data.", options: common,
        examples: [Example("chatfs key remember", "Unlock with the next login, without a passphrase.")]
    ) { invocation in
        let target = try KeyTarget(invocation)
        try await ThreadPool.shared.run {
            guard let keyring = target.ways.keyring else { throw KeyringError.absent }
            try target.folder.remember(target.folder.unlock(with: target.ways), in: keyring)
        }
    }

    private static let forget = Command(
        "forget", "Remove the key from the desktop keyring.",
        options: [KeyTarget.relayFolder, CommonOptions.data],
        examples: [Example("chatfs key forget", "Ask for the passphrase from now on.")]
    ) { invocation in
        let folder = try KeyTarget.folder(invocation)
        let problem = try await ThreadPool.shared.run {
            try folder.forget(in: Keyring.isPossible && folder.sharerOfKey == nil ? Keyring() : nil)
        }
        if let problem {
            Terminal.complain(
                "chatfs: the key in the keyring no longer unlocks the data, but could not be deleted: \(problem.sentence)"
            )
        }
    }

    private static let recovery = Command(
        "recovery", "Print a new recovery code, once, and revoke an earlier one.",
        discussion: """
            The code has six groups of letters and digits; its last four characters are a checksum against typing \
            errors. Write it down and keep it away from this machine: with it and the disk anyone can read the data. \
            --recovery-code-fd takes it in upper or lower case, with or without the dashes.
            """,
        options: common,
        examples: [Example("chatfs key recovery", "Print a code to write down.")]
    ) { invocation in
        let target = try KeyTarget(invocation)
        try await ThreadPool.shared.run {
            try target.folder.newRecoveryCode(for: target.folder.unlock(with: target.ways)) { code in
                try Terminal.deliver(code.text)
            }
        }
    }

    private static func recoveryCode(beside given: UnlockingSecret?) async throws -> UnlockingSecret {
        guard given == nil else {
            throw UsageError("--forgotten asks for the recovery code: give no other secret")
        }
        guard Question.isPossible else {
            throw UsageError("there is no terminal to ask for the recovery code: give --recovery-code-fd")
        }
        return try await ThreadPool.shared.run {
            let typed = Question.secret("Recovery code: ") ?? SecretBytes([])
            return .recoveryCode(
                try RecoveryCode(typed.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }))
        }
    }

    private static func newPassphrase(from invocation: Invocation) throws -> UnlockingSecret? {
        try Ways.secret(invocation, newPassphrase, UnlockingSecret.passphrase(from:))
    }

    /// Returns the given passphrase, or prompts for it.
    private static func passphrase(_ given: UnlockingSecret?) throws -> UnlockingSecret {
        if let given { return given }
        guard Question.isPossible else {
            throw UsageError("there is no terminal to ask for the new passphrase: give --new-passphrase-fd")
        }
        return .passphrase(try KeyedFolder.newPassphrase { Question.passphrase($0) })
    }
}
