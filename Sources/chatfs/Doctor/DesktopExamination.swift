import Base
import Desktop
import Glibc
import Posix

/// Examines the settings of desktop indexers and thumbnailers. `CallerPolicy` already denies them downloads;
/// excluding the mounts saves their requests. Changes nothing.
struct DesktopExamination: Sendable {
    /// Home directory of the user.
    let home: String
    /// `${XDG_CONFIG_HOME:-~/.config}`.
    let configuration: String
    let mountpoints: [String]

    /// Blocks briefly; at most five seconds for each call of gsettings.
    static func findings() async -> [Finding] {
        let home = getenv("HOME").map { String(cString: $0) } ?? "/"
        let configuration = getenv("XDG_CONFIG_HOME").map { String(cString: $0) }
        // If the mount table cannot be read, there is no mount to report on.
        let mounts = await ThreadPool.shared.run { (try? Mounted.all()) ?? [] }
        var own: [String] = []
        for mounted in mounts where await mounted.answer() != .foreign { own.append(mounted.mountpoint) }
        guard !own.isEmpty else { return [] }
        let examination = DesktopExamination(
            home: home,
            configuration: configuration.flatMap { $0.isAbsolutePath ? $0 : nil } ?? home + "/.config",
            mountpoints: own)
        let folders = await examination.trackerFolders()
        return await ThreadPool.shared.run {
            [examination.tumbler(), examination.baloo(), examination.tracker(folders)].flatMap { $0 }
        }
    }

    // MARK: - Thumbnails of Xfce and others

    private static let tumblerPrograms = [
        "/usr/lib/x86_64-linux-gnu/tumbler-1", "/usr/lib/aarch64-linux-gnu/tumbler-1", "/usr/lib/tumbler-1",
    ]

    private func tumbler() -> [Finding] {
        guard ProgramSearch.path(of: "tumblerd", in: Self.tumblerPrograms) != nil else { return [] }
        let text =
            Self.text(configuration + "/tumbler/tumbler.rc") ?? Self.text("/etc/xdg/tumbler/tumbler.rc")
        return tumbler(text ?? "")
    }

    /// - Parameter text: Content of tumbler.rc.
    func tumbler(_ text: String) -> [Finding] {
        let sections = Self.values(of: "Excludes", in: text)
        return mountpoints.filter { path in
            sections.isEmpty
                || !sections.allSatisfy { excludes in
                    excludes.split(separator: ";").contains { Self.isBelow(path, String($0)) }
                }
        }.map { path in
            .note(
                "tumbler requests the thumbnail of every file repeatedly: copy /etc/xdg/tumbler/tumbler.rc to "
                    + "\(configuration)/tumbler, with Excludes=\(path) in every section", naming: [path])
        }
    }

    // MARK: - The indexer of KDE

    private func baloo() -> [Finding] {
        let programs = ["balooctl6", "balooctl"]
        guard let program = programs.first(where: { ProgramSearch.path(of: $0) != nil }) else { return [] }
        return baloo(Self.text(configuration + "/baloofilerc") ?? "", program: program)
    }

    func baloo(_ text: String, program: String) -> [Finding] {
        if Self.values(of: "Indexing-Enabled", in: text).last == "false" { return [] }
        let excluded = folders(Self.values(of: "exclude folders", in: text).last ?? "")
        let included = Self.values(of: "folders", in: text).last.map(folders) ?? [home]
        return mountpoints.filter { path in
            included.contains { Self.isBelow(path, $0) } && !excluded.contains { Self.isBelow(path, $0) }
        }.map {
            .note("Baloo tries to index it: \(program) config add excludeFolders '\($0)'", naming: [$0])
        }
    }

    private func folders(_ list: String) -> [String] {
        list.split(separator: ",").map { String($0).replacing("$HOME", with: home) }
    }

    // MARK: - The indexer of GNOME

    /// Returns the recursively indexed folders as gsettings(1) prints them; nil if it is missing or fails.
    private func trackerFolders() async -> String? {
        guard let program = ProgramSearch.path(of: "gsettings") else { return nil }
        for schema in ["org.freedesktop.Tracker3.Miner.Files", "org.freedesktop.LocalSearch3"] {
            let settings = ChildProcess.Settings(program, ["get", schema, "index-recursive-directories"])
            guard let process = try? await ObservedProcess.start(settings, keeping: 16_384) else {
                return nil
            }
            if await process.ending(within: .seconds(5)) == .code(0) { return process.output }
            await process.stop(timeout: .seconds(1))
        }
        return nil
    }

    /// - Parameter folders: Output of gsettings(1), such as `['&DOCUMENTS', '/home/ada/Chats']`.
    func tracker(_ folders: String?) -> [Finding] {
        let named = (folders ?? "").utf8.split(separator: UInt8(ascii: "'")).map {
            String(decoding: $0, as: UTF8.self)
        }
        .filter(\.isAbsolutePath)
        return mountpoints.filter { path in named.contains { Self.isBelow($0, path) } }.map {
            .note(
                "the indexer of GNOME lists \($0) itself, so that .trackerignore does not exclude it: remove "
                    + "it from index-recursive-directories", naming: [$0])
        }
    }

    // MARK: - Parts

    /// Returns the values of `key=`, also `key[$e]=`, in the order of the text.
    static func values(of key: String, in text: String) -> [String] {
        text.split(separator: "\n").compactMap { line in
            guard let equals = line.firstIndex(of: "=") else { return nil }
            let name = line[..<equals].prefix { $0 != "[" }
            return name == key ? String(line[line.index(after: equals)...]) : nil
        }
    }

    /// Returns true if `path` is `folder` or below it.
    static func isBelow(_ path: String, _ folder: String) -> Bool { path.path(below: folder) != nil }

    /// Returns nil if the file of settings is missing or unreadable, which its program ignores too.
    private static func text(_ path: String) -> String? {
        guard let file = try? OpenFile(path, flags: O_RDONLY), let bytes = try? file.readAll(limit: 1 << 20)
        else { return nil }
        return String(decoding: bytes, as: UTF8.self)
    }
}
