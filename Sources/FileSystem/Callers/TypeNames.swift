import ChatCore
import Glibc
import Posix

/// Tells which file names determine a file's type for desktop programs. A window that lists a folder opens files with
/// other names and reads their beginnings.
///
/// The patterns come from shared-mime-info (`mime/globs2` in the data directories), which GIO and Qt use. A pure value;
/// thread-safe.
public struct TypeNames: Sendable {
    /// Name suffixes in lower case, such as `.tar.gz`.
    private var endings: [ArraySlice<UInt8>: Ending] = [:]
    /// Complete names in lower case.
    private var names: [ArraySlice<UInt8>: Ending] = [:]
    /// Prefixes, such as `readme` of `readme*`. They compete with suffixes.
    private var beginnings: [[UInt8]] = []

    private struct Ending {
        let type: ArraySlice<UInt8>
        var isSingle = true

        mutating func add(_ other: ArraySlice<UInt8>) { if other != type { isSingle = false } }
    }

    /// Maximum suffix length in bytes. The few longer patterns match no practical name.
    private static let longestEnding = 32
    /// Maximum bytes read of a `globs2` file, far above a large installation's size.
    private static let maxBytes = 4 << 20

    /// - Parameter globs: Text of a `globs2` file, in lines of weight, type and pattern.
    public init(globs: [UInt8] = []) {
        for line in globs.split(separator: UInt8(ascii: "\n")) where line.first != UInt8(ascii: "#") {
            let fields = line.split(separator: UInt8(ascii: ":"), maxSplits: 3)
            if fields.count >= 3 { add(Self.lowercased(fields[2])[...], fields[1]) }
        }
    }

    /// Loads the patterns of this machine and user. Reads files.
    public static func ofDesktop() -> TypeNames {
        let home = environment("XDG_DATA_HOME") ?? environment("HOME").map { $0 + "/.local/share" }
        return ofDesktop(
            dataFolders: environment("XDG_DATA_DIRS") ?? "/usr/local/share:/usr/share", home: home)
    }

    /// - Parameters:
    ///   - dataFolders: Paths separated by colons.
    ///   - home: The user's data directory; nil if there is none.
    static func ofDesktop(dataFolders: String, home: String?) -> TypeNames {
        let folders = (home.map { [$0] } ?? []) + dataFolders.split(separator: ":").map(String.init)
        var globs: [UInt8] = []
        for folder in folders {
            guard let file = try? OpenFile(folder + "/mime/globs2", flags: O_RDONLY),
                let bytes = try? file.read(count: maxBytes, at: 0)
            else { continue }
            globs += bytes + [UInt8(ascii: "\n")]
        }
        return TypeNames(globs: globs)
    }

    private static func environment(_ name: String) -> String? {
        getenv(name).map { String(cString: $0) }.flatMap { $0.isEmpty ? nil : $0 }
    }

    /// True without a desktop. Then only programs with patterns of their own detect types.
    private var isEmpty: Bool { endings.isEmpty && names.isEmpty }

    /// Returns true if the name alone determines the file's type.
    public func settles(_ name: some Sequence<UInt8>) -> Bool {
        let name = Self.lowercased(name)
        if isEmpty { return MediaType(fileName: String(decoding: name, as: UTF8.self)) != .unknown }
        if let whole = names[name[...]] { return whole.isSingle }
        // Desktops read launchers for a name and an icon, whatever their type.
        if Self.launchers.contains(where: { name.suffix($0.count).elementsEqual($0) }) { return false }
        if beginnings.contains(where: { name.starts(with: $0) }) { return false }
        for start in max(0, name.count - Self.longestEnding)..<name.count {
            if let ending = endings[name[start...]] { return ending.isSingle }
        }
        return false
    }

    private static let launchers = [Array(".desktop".utf8), Array(".directory".utf8)]

    private mutating func add(_ pattern: ArraySlice<UInt8>, _ type: ArraySlice<UInt8>) {
        let star = UInt8(ascii: "*")
        let isPlain = { (part: ArraySlice<UInt8>) in
            !part.contains { $0 == star || $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "[") }
        }
        if pattern.first == star, isPlain(pattern.dropFirst()) {
            endings[pattern.dropFirst(), default: Ending(type: type)].add(type)
        } else if pattern.last == star, isPlain(pattern.dropLast()) {
            beginnings.append(Array(pattern.dropLast()))
        } else if isPlain(pattern) {
            names[pattern, default: Ending(type: type)].add(type)
        }
    }

    private static func lowercased(_ bytes: some Sequence<UInt8>) -> [UInt8] {
        bytes.map { UInt8(ascii: "A")...UInt8(ascii: "Z") ~= $0 ? $0 + 32 : $0 }
    }
}
