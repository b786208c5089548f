import Base
import CommandLineKit
import Cryptography
import EmbeddedCore
import Glibc
import OfficialCore
import Posix

/// Where phones are kept in a data directory: each as an official core of its own, in a folder whose name tells nothing.
struct PhoneFolders: Sendable {
    /// Absolute.
    let dataPath: String

    /// The name of a first phone that was given none.
    static let usualName = "phone"

    /// Those of phones, whatever they are called. Blocks.
    func all() -> [String] {
        let names = (try? PrivateFolder.names(at: dataPath)) ?? []
        return names.filter(OfficialFolder.isName).map { "\(dataPath)/\($0)" }
            .filter { access("\($0)/\(PairingStore.file)", F_OK) == 0 }
    }

    func folder(named name: String) -> String {
        let mark = Hexadecimal.encode(Array(SHA256.hash(Array("phone \(name)".utf8)).prefix(8)))
        return "\(dataPath)/official-\(mark)"
    }

    /// That of the phone of this name; where none is named, of the only one, or of a first one. Blocks.
    func folder(meant name: String?) -> String {
        if let name { return folder(named: name) }
        let all = all()
        return all.count == 1 ? all[0] : folder(named: Self.usualName)
    }

    /// - Throws: `UsageError` where several phones are known and none is named. Blocks.
    func check(_ name: String?) throws(UsageError) {
        guard name == nil, all().count > 1 else { return }
        throw UsageError(
            "several phones are known: name one, phone:NAME; 'chatfs phone list' has their names")
    }
}
