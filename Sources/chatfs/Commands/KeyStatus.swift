import Base
import KeySlots
import Unlocking

/// The output of `chatfs key status` for a folder, without secrets.
struct KeyStatus {
    private let path: String
    private let condition: KeyedFolder.Condition
    private let slots: [KeySlot]

    /// Blocks.
    init(_ folder: KeyedFolder) throws {
        path = folder.path
        condition = try folder.condition
        slots = condition == .encrypted ? try folder.slots().slots : []
    }

    var lines: [String] {
        switch condition {
        case .new: ["\(path): no data yet; a new data directory is encrypted"]
        case .plain: ["\(path): not encrypted; 'chatfs key set' encrypts it"]
        case .encrypted:
            ["\(path): encrypted; unlocked by"]
                + slots.map { "  \(Self.words($0.kind)), since \($0.created.text)" }
        }
    }

    var json: String {
        let ways = slots.map { Description.Way(kind: Self.word($0.kind), created: $0.created.seconds) }
        let description = Description(path: path, encrypted: condition == .encrypted, ways: ways)
        // Words and numbers can always be written.
        return (try? JSONLine.encoded(description)) ?? "{}"
    }

    /// As JSON; `created` in seconds since 1970.
    struct Description: Encodable {
        struct Way: Encodable {
            let kind: String
            let created: Int64
        }

        let path: String
        let encrypted: Bool
        let ways: [Way]
    }

    private static func word(_ kind: KeySlot.Kind) -> String {
        switch kind {
        case .passphrase: "passphrase"
        case .recoveryCode: "recovery-code"
        case .key: "key"
        case .keyring: "keyring"
        }
    }

    private static func words(_ kind: KeySlot.Kind) -> String {
        switch kind {
        case .passphrase: "a passphrase"
        case .recoveryCode: "a recovery code"
        case .key: "an external key (--key-fd, a credential)"
        case .keyring: "the keyring"
        }
    }
}
