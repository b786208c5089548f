import Base
import Glibc
import MessageBus

/// Asks desktop programs over the bus to show files. This process starts no program, because its children would inherit
/// its confinement.
struct FileRevealing {
    let library: BusLibrary
    let connection: BusLibrary.Connection
    /// The desktop's activation token, which permits a window to come to the front; empty for none.
    let activation: String

    /// The programs, in the order of attempts.
    enum Way: Hashable, Sendable {
        /// The desktop's portal opens the file in its program.
        case opening
        /// The file manager selects the files in their folder.
        case selecting

        var next: Way? { self == .opening ? .selecting : nil }
    }

    private static let manager = "org.freedesktop.FileManager1"
    private static let portal = "org.freedesktop.portal.Desktop"
    /// `O_PATH` of open(2), which the headers define for GNU sources only.
    private static let pathOnly: Int32 = 0o10000000
    private static let kept = PercentEncoding.Unescaped(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/")

    /// - Parameter paths: Absolute paths.
    /// - Returns: The serial number of the call, or nil if it could not be sent.
    func ask(_ paths: [String], _ way: Way) -> UInt32? {
        switch way {
        case .opening: paths.first.flatMap(open)
        case .selecting: select(paths)
        }
    }

    /// `OpenFile` of `org.freedesktop.portal.OpenURI`. The descriptor is opened with O_PATH, so nothing is fetched
    /// until a program reads.
    private func open(_ path: String) -> UInt32? {
        let descriptor = Glibc.open(path, Self.pathOnly | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        return library.send(
            library.call(
                Self.portal, "/org/freedesktop/portal/desktop", "org.freedesktop.portal.OpenURI", "OpenFile"),
            [
                .text(""), .descriptor(descriptor),
                .hints(activation.isEmpty ? [:] : ["activation_token": .text(activation)]),
            ], over: connection)
    }

    private func select(_ paths: [String]) -> UInt32? {
        let uris = paths.map { "file://" + PercentEncoding.encode(Array($0.utf8), except: Self.kept) }
        let message = library.call(
            Self.manager, "/org/freedesktop/FileManager1", Self.manager, "ShowItems")
        return library.send(message, [.texts(uris), .text(activation)], over: connection)
    }
}
