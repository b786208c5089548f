import Base
import CommandLineKit
import Cryptography
import EmbeddedCore
import Glibc
import OfficialCore
import Posix

/// The folders of phones in a data directory. Each phone is an official core in a folder with a hashed name.
struct PhoneFolders: Sendable {
    /// Absolute.
    let dataPath: String

    /// Default name of the first phone.
    static let usualName = "phone"

    /// Returns the folders of all phones. Blocks.
    func all() -> [String] {
        let names = (try? PrivateFolder.names(at: dataPath)) ?? []
        return names.filter(OfficialFolder.isName).map { "\(dataPath)/\($0)" }
            .filter { access("\($0)/\(PairingStore.file)", F_OK) == 0 }
    }

    func folder(named name: String) -> String {
        let mark = Hexadecimal.encode(Array(SHA256.hash(Array("phone \(name)".utf8)).prefix(8)))
        return "\(dataPath)/official-\(mark)"
    }

    /// Returns the folder of the named phone; without a name, of the only phone, or of the first one to pair.
    /// Blocks.
    func folder(meant name: String?) -> String {
        if let name { return folder(named: name) }
        let all = all()
        return all.count == 1 ? all[0] : folder(named: Self.usualName)
    }

    /// Blocks.
    /// - Throws: `UsageError` if several phones are known and `name` is nil.
    func check(_ name: String?) throws(UsageError) {
        guard name == nil, all().count > 1 else { return }
        throw UsageError(
            "several phones are known: choose one with phone:NAME; 'chatfs phone list' prints their names")
    }
}
