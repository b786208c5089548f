/// The possible contents of a disk after a power cut, as far as POSIX permits: synchronised data is there, and any part
/// of the rest, in any order between files and between folders.
///
/// * Each write to a file since its last fsync(2) may have reached the disk or not, also in parts of 512 bytes.
/// * Of the changes to a folder since its last fsync(2), a first part has reached it. A rename between two folders has
///   reached the disk if it has for both.
/// * fsync(2) of a file does not cover its name.
struct DiskModel {
    /// A file or folder, also one without a name.
    typealias Object = Int

    private enum Change {
        case write(Object, offset: Int, bytes: [UInt8])
        case truncate(Object, size: Int)
        case zero(Object, offset: Int, count: Int)
        case extend(Object, size: Int)
        case enter(folder: Object, name: String, Object)
        case move(from: Object, String, to: Object, String)
        case remove(folder: Object, name: String)

        var file: Object? {
            switch self {
            case .write(let file, _, _), .truncate(let file, _), .zero(let file, _, _), .extend(let file, _):
                file
            case .enter, .move, .remove: nil
            }
        }

        var folders: [Object] {
            switch self {
            case .write, .truncate, .zero, .extend: []
            case .enter(let folder, _, _), .remove(let folder, _): [folder]
            case .move(let from, _, let to, _): from == to ? [from] : [from, to]
            }
        }
    }

    /// The disk: contents of files, entries of folders.
    private struct Disk {
        var contents: [Object: [UInt8]] = [:]
        var entries: [Object: [String: Object]] = [0: [:]]

        mutating func apply(_ change: Change) {
            switch change {
            case .write(let file, let offset, let bytes):
                grow(file, to: offset + bytes.count)
                contents[file]?.replaceSubrange(offset..<offset + bytes.count, with: bytes)
            case .truncate(let file, let size):
                grow(file, to: size)
                contents[file]?.removeSubrange(size...)
            case .zero(let file, let offset, let count):
                let end = min(offset + count, contents[file]?.count ?? 0)
                guard offset < end else { return }
                contents[file]?.replaceSubrange(offset..<end, with: repeatElement(0, count: end - offset))
            case .extend(let file, let size): grow(file, to: size)
            case .enter(let folder, let name, let object): entries[folder, default: [:]][name] = object
            case .move(let from, let old, let to, let new):
                // Its first half may be missing if the folder's own entry is.
                guard let object = entries[from]?.removeValue(forKey: old) else { return }
                entries[to, default: [:]][new] = object
            case .remove(let folder, let name): entries[folder]?[name] = nil
            }
        }

        private mutating func grow(_ file: Object, to size: Int) {
            let count = contents[file]?.count ?? 0
            if count < size { contents[file, default: []] += repeatElement(0, count: size - count) }
        }
    }

    private struct Pending {
        var change: Change
        /// Its position among all changes.
        var number: Int
    }

    /// The certain contents of the disk.
    private var durable = Disk()
    /// The possible further changes, in order.
    private var pending: [Pending] = []
    /// The state seen by running programs.
    private var seen = Disk()
    private var folders: Set<Object> = [0]
    /// The newest object with a file's number.
    private var objects: [UInt64: Object] = [:]
    private var nextObject = 1
    private var nextNumber = 0

    /// Starts with permanent contents: paths of folders end with a slash.
    init(_ contents: [(path: String, file: UInt64, bytes: [UInt8])]) {
        for entry in contents.sorted(by: { $0.path < $1.path }) {
            if entry.path.hasSuffix("/") {
                perform(.makeFolder(path: String(entry.path.dropLast())))
            } else {
                perform(.create(file: entry.file, path: entry.path))
                perform(.write(file: entry.file, offset: 0, bytes: entry.bytes))
            }
        }
        perform(.syncAll)
    }

    /// The number of uncertain changes.
    var openChanges: Int { pending.count }

    // MARK: - Operations of programs

    mutating func perform(_ operation: DiskOperation) {
        switch operation {
        case .write(let file, let offset, let bytes):
            if let object = objects[file] { change(.write(object, offset: offset, bytes: bytes)) }
        case .truncate(let file, let size):
            if let object = objects[file] { change(.truncate(object, size: size)) }
        case .zero(let file, let offset, let count):
            if let object = objects[file] { change(.zero(object, offset: offset, count: count)) }
        case .extend(let file, let size):
            if let object = objects[file] { change(.extend(object, size: size)) }
        case .create(let file, let path):
            objects[file] = makeObject()
            enter(objects[file], path)
        case .unnamed(let file): objects[file] = makeObject()
        case .makeFolder(let path):
            let folder = makeObject()
            folders.insert(folder)
            enter(folder, path)
        case .link(let file, let path): enter(objects[file], path)
        case .rename(let from, let to):
            if let (old, oldName) = place(from), let (new, newName) = place(to) {
                change(.move(from: old, oldName, to: new, newName))
            }
        case .unlink(let path), .removeFolder(let path):
            if let (folder, name) = place(path) { change(.remove(folder: folder, name: name)) }
        case .syncFile(let file):
            if let object = objects[file] { settle { $0.file == object } }
        case .syncFolder(let path):
            if let folder = object(at: path) { settleFolder(folder) }
        case .syncAll: settle { _ in true }
        case .promise: break
        }
    }

    private mutating func makeObject() -> Object {
        defer { nextObject += 1 }
        return nextObject
    }

    private mutating func enter(_ object: Object?, _ path: String) {
        guard let object, let (folder, name) = place(path) else { return }
        change(.enter(folder: folder, name: name, object))
    }

    private mutating func change(_ change: Change) {
        seen.apply(change)
        pending.append(Pending(change: change, number: nextNumber))
        nextNumber += 1
    }

    /// Makes pending changes certain.
    private mutating func settle(_ isSettled: (Change) -> Bool) {
        for one in pending where isSettled(one.change) { durable.apply(one.change) }
        pending.removeAll { isSettled($0.change) }
    }

    /// Applies a folder's changes and, because they are written in order, all earlier ones of the folders involved.
    private mutating func settleFolder(_ folder: Object) {
        var limits: [Object: Int] = [folder: nextNumber]
        var hasGrown = true
        while hasGrown {
            hasGrown = false
            for one in pending where one.change.folders.contains(where: { one.number < limits[$0] ?? 0 }) {
                for folder in one.change.folders where limits[folder] ?? 0 <= one.number {
                    limits[folder] = one.number + 1
                    hasGrown = true
                }
            }
        }
        let settled = Set(
            pending.filter { one in one.change.folders.contains { one.number < limits[$0] ?? 0 } }.map(
                \.number))
        for one in pending where settled.contains(one.number) { durable.apply(one.change) }
        pending.removeAll { settled.contains($0.number) }
    }

    /// Returns the folder of a path and its last name, as seen by programs.
    private func place(_ path: String) -> (Object, String)? {
        guard let slash = path.lastIndex(of: "/") else { return (0, path) }
        return object(at: String(path[..<slash])).map { ($0, String(path[path.index(after: slash)...])) }
    }

    private func object(at path: String) -> Object? {
        var object = 0
        for name in path.split(separator: "/") {
            guard let next = seen.entries[object]?[String(name)] else { return nil }
            object = next
        }
        return object
    }

    // MARK: - Possible remains

    /// The unsynchronised changes that reached the disk.
    enum Survival {
        /// All of them: the process was killed without a power cut.
        case everything
        case nothing
        /// Each change at random.
        case some
    }

    /// Returns a possible disk state after a cut now, by path; paths of folders end with a slash.
    func state<Generator: RandomNumberGenerator>(
        _ survival: Survival, using generator: inout Generator
    ) -> [String: [UInt8]] {
        var disk = durable
        switch survival {
        case .nothing: break
        case .everything: for one in pending { disk.apply(one.change) }
        case .some:
            let share = [0.1, 0.5, 0.9].randomElement(using: &generator) ?? 0.5
            var limits: [Object: Int] = [:]
            for one in pending {
                if one.change.file != nil {
                    for part in Self.survivors(of: one.change, share, &generator) { disk.apply(part) }
                } else {
                    // From its first lost change on, a folder has none.
                    for folder in one.change.folders where limits[folder] == nil {
                        if Double.random(in: 0..<1, using: &generator) > share { limits[folder] = one.number }
                    }
                    if one.change.folders.allSatisfy({ limits[$0].map { one.number < $0 } ?? true }) {
                        disk.apply(one.change)
                    } else {
                        for folder in one.change.folders {
                            limits[folder] = min(limits[folder] ?? .max, one.number)
                        }
                    }
                }
            }
        }
        return tree(of: disk)
    }

    /// All, none, or parts of a change to a file.
    private static func survivors<Generator: RandomNumberGenerator>(
        of change: Change, _ share: Double, _ generator: inout Generator
    ) -> [Change] {
        let chance = Double.random(in: 0..<1, using: &generator)
        guard case .write(let file, let offset, let bytes) = change, chance > 0.8, bytes.count > 512 else {
            return chance < share ? [change] : []
        }
        return stride(from: 0, to: bytes.count, by: 512).compactMap { start in
            guard Bool.random(using: &generator) else { return nil }
            let part = bytes[start..<min(start + 512, bytes.count)]
            return .write(file, offset: offset + start, bytes: Array(part))
        }
    }

    private func tree(of disk: Disk) -> [String: [UInt8]] {
        var result: [String: [UInt8]] = [:]
        var open: [(path: String, folder: Object)] = [("", 0)]
        while let (path, folder) = open.popLast() {
            for (name, object) in disk.entries[folder] ?? [:] {
                if folders.contains(object) {
                    result[path + name + "/"] = []
                    open.append((path + name + "/", object))
                } else {
                    result[path + name] = disk.contents[object] ?? []
                }
            }
        }
        return result
    }
}
