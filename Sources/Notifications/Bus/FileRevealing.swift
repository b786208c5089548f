import Base
import Glibc
import MessageBus

/// Asks programs of the desktop over the bus to show files. This process starts none itself: what it may not do, they
/// could not do either.
struct FileRevealing {
    let library: BusLibrary
    let connection: BusLibrary.Connection
    /// Of the desktop, for windows that come to the front; empty for none.
    let activation: String

    /// Which program, in the order in which they are asked.
    enum Way: Hashable, Sendable {
        /// The desktop's portal opens a file in its program.
        case opening
        /// The file manager shows the folder with the files selected.
        case selecting

        var next: Way? { self == .opening ? .selecting : nil }
    }

    private static let manager = "org.freedesktop.FileManager1"
    private static let portal = "org.freedesktop.portal.Desktop"
    /// `O_PATH` of open(2), which the headers show to GNU sources only.
    private static let pathOnly: Int32 = 0o10000000
    private static let kept = PercentEncoding.Unescaped(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/")

    /// - Parameter paths: absolute.
    /// - Returns: the number that the answer will name; nil where it cannot be asked.
    func ask(_ paths: [String], _ way: Way) -> UInt32? {
        switch way {
        case .opening: paths.first.flatMap(open)
        case .selecting: select(paths)
        }
    }

    /// `OpenFile` of `org.freedesktop.portal.OpenURI`. The file is named by a descriptor that reads nothing, so that
    /// nothing is fetched before a program reads it.
    private func open(_ path: String) -> UInt32? {
        let descriptor = Glibc.open(path, Self.pathOnly | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        return send(
            library.call(
                Self.portal, "/org/freedesktop/portal/desktop", "org.freedesktop.portal.OpenURI", "OpenFile"),
            [
                .text(""), .descriptor(descriptor),
                .hints(activation.isEmpty ? [:] : ["activation_token": .text(activation)]),
            ])
    }

    private func select(_ paths: [String]) -> UInt32? {
        let uris = paths.map { "file://" + PercentEncoding.encode(Array($0.utf8), except: Self.kept) }
        let message = library.call(
            Self.manager, "/org/freedesktop/FileManager1", Self.manager, "ShowItems")
        return send(message, [.texts(uris), .text(activation)])
    }

    private func send(_ message: BusLibrary.Message?, _ arguments: [BusValue]) -> UInt32? {
        guard let message else { return nil }
        defer { library.release(message) }
        library.append(to: message, arguments)
        return library.send(message, over: connection)
    }
}
