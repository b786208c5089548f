import Base

/// A system call on the mount that makes the kernel notify watchers, encoded for `WatcherProcess`. Paths are relative
/// to the mount's root.
enum MountCall: Equatable, Sendable {
    /// Opens the mount at this path if it has these ids (`MountTable.Mount`).
    case enter(path: [UInt8], id: UInt64, serial: UInt64)
    /// Closes the mount until the next `enter`, because an open root prevents an unmount.
    case leave
    case makeFile([UInt8])
    case makeFolder([UInt8])
    case removeFile([UInt8])
    case removeFolder([UInt8])
    case rename([UInt8], to: [UInt8])
    /// Sets the mode that the file already has.
    case touch([UInt8], mode: UInt64)

    /// Maximum encoded length in bytes.
    static let maxLength = 16_384

    // MARK: - Encoding

    /// One byte of kind, then the fields: numbers of eight bytes, NUL-terminated paths.
    var encoded: [UInt8] {
        switch self {
        case .enter(let path, let id, let serial): [0] + Self.bytes(id) + Self.bytes(serial) + path + [0]
        case .leave: [1]
        case .makeFile(let path): [2] + path + [0]
        case .makeFolder(let path): [3] + path + [0]
        case .removeFile(let path): [4] + path + [0]
        case .removeFolder(let path): [5] + path + [0]
        case .rename(let path, let new): [6] + path + [0] + new + [0]
        case .touch(let path, let mode): [7] + Self.bytes(mode) + path + [0]
        }
    }

    init?(encoded: [UInt8]) {
        var rest = encoded[...]
        guard let kind = rest.popFirst() else { return nil }
        switch kind {
        case 0:
            guard let id = Self.number(&rest), let serial = Self.number(&rest), let path = Self.text(&rest)
            else { return nil }
            self = .enter(path: path, id: id, serial: serial)
        case 1: self = .leave
        case 7:
            guard let mode = Self.number(&rest), let path = Self.text(&rest) else { return nil }
            self = .touch(path, mode: mode)
        default:
            guard let path = Self.text(&rest) else { return nil }
            switch kind {
            case 2: self = .makeFile(path)
            case 3: self = .makeFolder(path)
            case 4: self = .removeFile(path)
            case 5: self = .removeFolder(path)
            case 6:
                guard let new = Self.text(&rest) else { return nil }
                self = .rename(path, to: new)
            default: return nil
            }
        }
        guard rest.isEmpty else { return nil }
    }

    private static func bytes(_ number: UInt64) -> [UInt8] { withUnsafeBytes(of: number) { Array($0) } }

    private static func number(_ rest: inout ArraySlice<UInt8>) -> UInt64? {
        guard rest.count >= 8 else { return nil }
        defer { rest = rest.dropFirst(8) }
        return Array(rest.prefix(8)).withUnsafeBytes { $0.loadUnaligned(as: UInt64.self) }
    }

    private static func text(_ rest: inout ArraySlice<UInt8>) -> [UInt8]? {
        guard let end = rest.firstIndex(of: 0) else { return nil }
        defer { rest = rest[(end + 1)...] }
        return Array(rest[..<end])
    }
}
