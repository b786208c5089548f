import Base
import ChatCore
import CommandLineKit
import Cryptography
import Glibc
import OfficialCore
import Posix

/// The phone behind `--core phone`: its keys, its previous profile, and the prompts for its user.
struct MountedPhone: Sendable {
    private let choice: OfficialCoreChoice
    private let display: LinkDisplay
    private let name: String?

    init(_ choice: OfficialCoreChoice, _ settings: CoreSettings) {
        self.choice = choice
        display = settings.phoneDisplay
        if case .phone(let name) = choice.address { self.name = name } else { name = nil }
    }

    /// Starts waiting for the phone.
    /// - Parameter official: Receives the settings for this phone; must already have the encryption key.
    func transport(_ official: inout OfficialCoreSettings) async throws -> any OfficialTransport {
        let (folder, key, name) = (official.folder, official.key, name)
        let (store, known) = try await ThreadPool.shared.run { () throws(any Error) in
            let store = try PairingStore(folder: folder, key: key, name: name ?? PhoneFolders.usualName)
            var known = try store.description()
            if let name, known.name != name {
                // 'chatfs phone rename' was interrupted.
                try store.rename(to: name)
                known.name = name
            }
            return (store, known)
        }
        var phone = OfficialCoreSettings.Phone(profile: known.profile)
        phone.receiveLimit = choice.phone.limit
        phone.note = { try store.note($0) }
        phone.refuse = { Terminal.note($0) }
        official.phone = phone
        official.pageSize = 100
        official.comparesFirst = false
        let options = choice.phone
        var settings = PhoneTransportSettings(
            place: { options.place() }, versions: options.range, computer: PhoneOptions.computer,
            makeFile: { () throws(SystemError) in
                try OpenFile.unnamed(in: OpenFile(folder, flags: O_RDONLY | O_DIRECTORY))
            })
        let screen = PhoneScreen(name: known.name, display: display, isAnnounced: options.isAnnounced)
        settings.observe = { screen.show($0) }
        if phone.receiveLimit > 0, known.profile == nil {
            Terminal.note(
                "If you read a file here that the phone does not have yet, the phone receives it first, up to "
                    + "\(ByteCount.exact(phone.receiveLimit)) each. This uses its storage; --policy phone-only "
                    + "prevents it.")
        }
        return PhoneTransport.start(settings, pairing: store)
    }
}
