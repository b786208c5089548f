import Base
import ChatCore
import Glibc
import Posix
import Store
import TestSupport
import Testing

@testable import Links

@Suite("Rows of the folder of links")
struct LinkRowTests {
    private let stage: LinkStage
    private let store: LinkStore

    init() throws {
        stage = try LinkStage()
        store = stage.store()
    }

    private static let problem = FileProblem(.relayFull, "The relay is full.")
    private static let progress: (done: UInt64, total: UInt64) = (3, 9)

    @Test("failed lookups are errors, not missing links")
    func unreadable() throws {
        let path = stage.folder.path("profile/links.sqlite")
        try check("make a link to itself") { symlink(path, path) }
        #expect(throws: SystemError(code: ELOOP, operation: "look for links")) {
            try store.read(or: 0) { _ in 1 }
        }
        #expect(throws: SystemError.self) { try store.remove([1]) }
        unlink(path)
        #expect(try store.read(or: 0) { _ in 1 } == 0)
    }

    private func upload() throws -> LinkRow { try store.add(stage.message("a.bin", [1, 2, 3])) }

    private func row(_ id: Int64) throws -> LinkRow {
        try #require(try store.read(or: nil) { try $0.row(id) })
    }

    @Test(
        "each status maps to a file state and problem",
        arguments: [
            (.uploading, nil, .sndTransfer(sent: 3, total: 9)), (.uploading, problem, .sndWarning(problem)),
            (.uploaded, nil, .sndComplete), (.cancelled, nil, .sndCancelled), (.removed, nil, .sndCancelled),
            (.failed, problem, .sndError(problem)),
            (.failed, nil, .sndError(FileProblem(.other, "The upload failed."))),
            (.offered, nil, .rcvInvitation(described: true)), (.stored, nil, .rcvComplete),
            (.lost, problem, .rcvError(problem)),
            (.lost, nil, .rcvError(FileProblem(.expired, "The file is no longer available."))),
        ] as [(LinkStatus, FileProblem?, FileStatus)])
    func states(status: LinkStatus, problem: FileProblem?, shown: FileStatus) throws {
        var row = try upload()
        (row.status, row.problem) = (status, problem)
        #expect(row.item(of: "alice", folder: "/f", progress: Self.progress).file?.status == shown)
        row.kind = .shortcut
        #expect(row.item(of: "alice", folder: "/f", progress: Self.progress).file?.status == .sndStored)
        row.kind = .upload
        guard status == .uploading, problem == nil else { return }
        #expect(row.item(of: "alice", folder: "/f", progress: nil).file?.status == .sndStored)
    }

    @Test("kind and status decide owner, place and expiry")
    func items() throws {
        var row = try upload()
        (row.link, row.expires, row.caption) = ("simplex:/file#x", Timestamp(seconds: 99), "look")
        for kind in LinkKind.allCases {
            for status in LinkStatus.allCases {
                (row.kind, row.status) = (kind, status)
                let item = row.item(of: "alice", folder: "/f", progress: nil)
                let file = try #require(item.file)
                #expect(item.chat == .links && item.id.isOfLink && file.id.isOfLink)
                #expect(item.content == MessageContent(kind: .file, text: "look"))
                #expect((item.direction == .received) == (kind == .added))
                #expect(item.sender == (kind == .added ? "" : "alice"))
                #expect(file.transport == (kind == .shortcut ? .local : .xftp))
                let isHere = status != .offered && status != .lost
                #expect((file.source?.path == "/f/\(row.storedName ?? "")") == isHere)
                #expect(isHere || file.source == nil)
                #expect(file.expires == (status == .uploading ? nil : Timestamp(seconds: 99)))
                #expect(file.link == (status == .cancelled ? nil : "simplex:/file#x"))
            }
        }
        row.storedName = nil
        row.status = .stored
        #expect(row.item(of: "alice", folder: "/f", progress: nil).file?.source == nil)
    }

    @Test("links too long for an extended attribute are hidden", arguments: [65_535, 65_536, 65_537])
    func longLinks(count: Int) throws {
        var row = try upload()
        row.status = .uploaded
        row.link = String(repeating: "é", count: count / 2) + (count % 2 == 1 ? "x" : "")
        let shown = row.item(of: "alice", folder: "/f", progress: nil).file?.link
        #expect((shown != nil) == (count <= 65_536))
    }

    @Test(
        "changes need an expected status", arguments: LinkStatus.allCases)
    func changes(from: LinkStatus) throws {
        let id = try upload().id
        try store.commit { change in
            for expected in LinkStatus.allCases {
                #expect(
                    try change.table.setStatus(from, of: id, from: LinkStatus.allCases, problem: Self.problem)
                )
                let isChanged = try change.table.setStatus(.failed, of: id, from: [expected])
                #expect(isChanged == (expected == from))
                let row = try #require(try change.table.row(id))
                #expect(row.status == (isChanged ? .failed : from))
                #expect(row.problem == (isChanged ? nil : Self.problem), "a new status has no old problem")
            }
            #expect(try !change.table.setStatus(.failed, of: id, from: []))
            #expect(try !change.table.setStatus(.failed, of: id + 1, from: LinkStatus.allCases))
        }
    }

    @Test("notes of an upload last until its end")
    func uploads() throws {
        let id = try upload().id
        #expect(try !row(id).hasBegun)
        try store.commit { try $0.table.noteBegun(id, upload: nil, expires: Timestamp(seconds: 5)) }
        #expect(try row(id).hasBegun && row(id).upload == nil && row(id).expires == Timestamp(seconds: 5))
        try store.commit { try $0.table.noteBegun(id, upload: FileID(7), expires: nil) }
        try store.commit { try $0.table.noteBegun(id, upload: nil, expires: nil) }
        #expect(try row(id).upload == FileID(7) && row(id).expires == Timestamp(seconds: 5))
        try store.commit { try $0.table.setLink("simplex:/file#x", of: id) }
        try store.commit { try $0.table.noteEnded(id) }
        let ended = try row(id)
        #expect(!ended.hasBegun && ended.upload == nil && ended.link == nil && ended.expires == nil)
        #expect(ended.storedName != nil && ended.arguments != nil, "the file stays")
    }

    @Test(
        "unknown words are damage, unknown reasons are not",
        arguments: [
            ("kind = 'x'", false), ("status = 'x'", false),
            ("problem = 'sunspots', problem_sentence = 'So.'", true),
        ])
    func words(change: String, isRead: Bool) throws {
        let id = try upload().id
        let database = try Database(
            path: stage.folder.path("profile/links.sqlite"), migrations: LinkTable.migrations)
        try database.transaction {
            try $0.executeScript("PRAGMA ignore_check_constraints = 1; UPDATE link SET \(change)")
        }
        database.close()
        if isRead {
            #expect(try row(id).problem == FileProblem(.other, "So."))
        } else {
            let error = #expect(throws: StoreError.self) { try row(id) }
            #expect(error?.code == .damaged)
        }
    }

    @Test("pages list newest first without removed entries")
    func pages() throws {
        let ids = try (0..<9).map { _ in try upload().id }
        try store.commit { change in
            for id in [ids[8], ids[4], ids[0]] {
                _ = try change.table.setStatus(.removed, of: id, from: LinkStatus.allCases)
            }
        }
        let shown = ids.reversed().filter { ![ids[8], ids[4], ids[0]].contains($0) }
        for size in 1...7 {
            var (listed, before) = ([Int64](), Int64?.none)
            while true {
                let page = try store.read(or: []) { try $0.rows(before: before, count: size) }
                listed += page.map(\.id)
                before = page.last?.id
                if page.count < size { break }
            }
            #expect(listed == shown)
        }
        #expect(try store.read(or: []) { try $0.rows([.removed, .uploading]) }.count == 9)
        #expect(try store.read(or: []) { try $0.rows([.removed]) }.map(\.id) == [ids[0], ids[4], ids[8]])
    }
}
