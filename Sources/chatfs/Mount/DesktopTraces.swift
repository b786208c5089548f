import Base
import FileSystem
import Glibc
import Media
import Namespace
import Posix
import Thumbnails

/// What the desktop keeps of the files of a mount outside it: thumbnails, and marks that there are none. They are
/// taken away when the mount ends, and where it could not do that, when the profile is mounted again.
struct DesktopTraces: Sendable {
    let desktop: DesktopThumbnails
    private let names: Namespace
    private let mountpoint: String
    private let beginning = SystemWallClock().now().seconds

    /// How long the end of a mount waits for it.
    private static let timeout: Duration = .seconds(20)

    /// Nil, and a line in the log, where the thumbnail cache cannot be used. Blocks; to be called before anything is
    /// mounted.
    static func open(_ names: Namespace, mountpoint: String) -> DesktopTraces? {
        guard let path = path(), path.path(below: mountpoint) == nil else { return nil }
        do throws(SystemError) {
            return DesktopTraces(
                desktop: DesktopThumbnails(try ThumbnailFolder(path: path, mountpoint: mountpoint)),
                names: names, mountpoint: mountpoint)
        } catch {
            Log("mount").notice("No previews are offered to the desktop: \(error.sentence)")
            return nil
        }
    }

    /// XDG Base Directory Specification: a relative value does not count.
    private static func path() -> String? {
        if let cache = getenv("XDG_CACHE_HOME").map({ String(cString: $0) }), cache.isAbsolutePath {
            return cache + "/thumbnails"
        }
        guard let home = getenv("HOME").map({ String(cString: $0) }), home.isAbsolutePath else { return nil }
        return home + "/.cache/thumbnails"
    }

    /// Takes away what earlier mounts left behind, before anything is offered. Waits for nothing.
    func beginSweeping() {
        desktop.sweep { offered in
            var traces: [ThumbnailFolder.Traces] = []
            let earlier = try names.mountpoints()
            if !earlier.contains(where: { $0.path.hasSameBytes(as: mountpoint) }) {
                // From another profile, or of a version that did not note it: what leads here is nobody else's.
                traces.append(.init(mountpoint: mountpoint, since: nil, isLookedForByName: true))
                try note(isSwept: false)
            }
            for place in earlier where place.path.hasSameBytes(as: mountpoint) || !Self.isInUse(place.path) {
                traces.append(
                    .init(
                        mountpoint: place.path, since: place.since, isLookedForByName: !place.isSwept))
            }
            // Other profiles' mounts that were killed.
            let known = Set(earlier.map(\.path) + [mountpoint])
            for place in offered where !known.contains(place) && !Self.isInUse(place) {
                traces.append(.init(mountpoint: place, since: nil, isLookedForByName: false))
            }
            return traces
        } paths: { body in
            eachPath(body)
        } done: {
            try note(isSwept: false)
        }
    }

    /// After the mount has gone: takes away what is left of it.
    func sweep() async {
        desktop.stopOffering()
        desktop.sweep { _ in
            [.init(mountpoint: mountpoint, since: beginning, isLookedForByName: true)]
        } paths: { body in
            eachPath(body)
        } done: {
            try note(isSwept: true)
        }
        let sweeping = Task { await desktop.finish() }
        if await sweeping.result(within: Self.timeout) == nil {
            Log("mount").warning("what the desktop kept of this mount is left for the next one to sweep")
        }
    }

    private func eachPath(_ body: (_ path: [UInt8]) -> Void) {
        do throws(NamespaceError) {
            try names.eachPath { body($0.bytes) }
        } catch {
            Log("mount").warning("The names of files could not be read: \(error.sentence)")
        }
    }

    /// Until now nothing is there that is newer than `since`.
    private func note(isSwept: Bool) throws(NamespaceError) {
        let since = isSwept ? SystemWallClock().now().seconds : beginning
        try names.note(.init(path: mountpoint, since: since, isSwept: isSwept))
    }

    /// Somebody else has a mount there now, and sweeps for himself; one whose program has died is nobody's.
    /// Where the table of mounts cannot be read, nobody's is assumed: sweeping takes only what names files of ours.
    private static func isInUse(_ path: String) -> Bool {
        guard (try? MountTable.mount(at: path)) != nil else { return false }
        return access(path, F_OK) == 0 || errno != ENOTCONN
    }
}

extension ThumbnailMaker: ThumbnailMaking {}
