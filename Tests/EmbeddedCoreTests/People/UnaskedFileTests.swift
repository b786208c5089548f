import Agent
import Base
import ChatCore
import ChatProtocol
import Glibc
import Posix
import TestSupport
import Testing

@testable import EmbeddedCore

/// Automatically received files of a contact that chooses their descriptions.
@Suite struct UnaskedFileTests {
    @Test(arguments: [12 << 20, 2 << 30])
    func descriptionsOfLargerFilesAreRejected(described: Int) async throws {
        let stage = try await ToldStage()
        let file = try await stage.offer(
            "a.jpg", size: 1000, stage.world.relay.put([1], describing: described))
        try await wait(until: "it has failed") {
            if case .rcvError(let problem) = try await stage.status(of: file) {
                problem.kind == .damaged
            } else {
                false
            }
        }
        for command in [
            { try await stage.core.receiveFile(file, approvedRelays: true) },
            { _ = try await stage.core.claimFile(file, approvedRelays: true) },
        ] as [@Sendable () async throws -> Void] {
            #expect(await refusal(command)?.code == .file(.damaged))
        }
        #expect(stage.world.relay.state.withLock { $0.downloads } == 0)
        await stage.core.shutDown()
    }

    @Test func picturesBeyondDailyBudgetAreOffers() async throws {
        let stage = try await ToldStage()
        let (limit, more) = (ReceptionBudget.maxFiles, 3)
        for number in 0..<limit + more {
            try await stage.offer("\(number).jpg", size: 10, stage.world.relay.put(pattern(10)))
        }
        func counts(_ items: [ChatItem]) -> [Int] {
            ([.rcvComplete, .rcvInvitation(described: true)] as [FileStatus]).map { status in
                items.count { $0.file?.status == status }
            }
        }
        try await wait(until: "as many are here as may be") {
            try await counts(stage.items) == [limit, more]
        }
        // Setting the wall clock does not renew the budget.
        stage.world.clock.jump(by: ReceptionBudget.period)
        let late = try await stage.offer("late.jpg", size: 10, stage.world.relay.put(pattern(10)))
        #expect(try await stage.status(of: late) == .rcvInvitation(described: true))
        stage.world.clock.jump(by: .zero - ReceptionBudget.period)
        try await stage.core.deleteItems(
            stage.items.filter { $0.file?.id == late }.map(\.id), in: stage.core.chat(named: "bob"),
            mode: .internal)
        // A requested file is received in any case.
        let last = try #require(try await stage.items.first { $0.file?.name == "\(limit).jpg" }?.file)
        try await stage.core.receiveFile(last.id, approvedRelays: false)
        try await wait(until: "it is here") { try await stage.status(of: last.id) == .rcvComplete }
        await stage.core.shutDown()

        stage.world.clock.advance(by: ReceptionBudget.period)
        let later = try await stage.world.open("alice", over: ToldAgent(isEarly: false) { _ in nil }.making)
        try await wait(until: "the rest are here too") {
            let items = try await later.items(of: later.chat(named: "bob"), before: nil, count: 1000)
            return counts(items) == [limit + more, 0]
        }
        await later.shutDown()
    }

    @Test func inventedAuthorsShareBudget() async throws {
        let stage = try await HostileGroupTests.Stage()
        let (limit, more) = (ReceptionBudget.maxFiles, 3)
        let relay = stage.world.relay
        func forward(_ number: Int) async throws {
            let author = try #require(MemberID(bytes: [7, UInt8(number)]))
            let id = SharedMessageID(from: SystemRandomSource())
            let image = ChatContent(.image(preview: "data:image/jpg;base64,AA=="))
            let file = FileInvitation(name: "\(number).jpg", size: 10)
            let parts = DescriptionPart.parts(of: relay.put(pattern(10)), limit: 15_000)
            let events: [MessageEvent] =
                [.message(NewMessage(image, file: file))] + parts.map { .description(of: id, $0) }
            try await stage.hear(
                events.enumerated().map { place, event in
                    let message = ChatMessage(
                        event, id: place == 0 ? id : SharedMessageID(from: SystemRandomSource()))
                    let forwarded = ForwardedMessage(
                        author: author, message: message, time: stage.world.clock.now())
                    return ChatMessage(.group(.forwarded(forwarded)), id: nil)
                }, over: 1)
        }
        for number in 0..<limit + more { try await forward(number) }
        try await wait(until: "all are here or offers") {
            let chat = try await stage.core.chat(named: "club")
            let items = try await stage.core.items(of: chat, before: nil, count: 1000)
            return ([.rcvComplete, .rcvInvitation(described: true)] as [FileStatus]).map { status in
                items.count { $0.file?.status == status }
            } == [limit, more]
        }
        await stage.core.shutDown()
    }

    @Test func inlineFilesShareBudget() async throws {
        let stage = try await ToldStage()
        let (author, chat) = (Author.contact, stage.chat)
        try stage.core.store.commit { change in
            for _ in 1..<ReceptionBudget.maxFiles {
                try change.tables.network.budgets.spend(1, of: author, in: chat, at: change.elapsed)
            }
        }
        func send(_ name: String) async throws -> FileStatus? {
            let id = SharedMessageID(from: SystemRandomSource())
            try await stage.say(
                .message(
                    NewMessage(
                        ChatContent(.file), file: FileInvitation(name: name, size: 20_000, way: .sentInline))),
                as: id)
            return try await stage.items.first { $0.file?.name == name }?.file?.status
        }
        #expect(try await send("a") == .rcvAccepted)
        guard case .rcvError(let problem) = try await send("b") else {
            Issue.record("it is taken")
            return
        }
        #expect(problem.kind == .neverUploaded && problem.sentence.contains("in a day"))
        await stage.core.shutDown()
    }

    @Test func othersLeaveMemberAShareOfSentFiles() async throws {
        let stage = try await HostileGroupTests.Stage()
        let chat = try stage.core.store.read { try #require(try $0.groups.group(over: ConnectionID(1))).chat }
        func spend(_ count: Int, of author: MemberID) throws {
            try stage.core.store.commit { change in
                for _ in 0..<count {
                    try change.tables.network.budgets.spend(
                        1, of: .member(author), in: chat, at: change.elapsed)
                }
            }
        }
        func send(_ name: String) async throws -> FileStatus? {
            let file = FileInvitation(name: name, size: 20_000, way: .sentInline)
            let message = ChatMessage(
                .message(NewMessage(ChatContent(.file), file: file)),
                id: SharedMessageID(from: SystemRandomSource()))
            try await stage.hear([message], over: 2)
            let items = try await stage.core.items(
                of: stage.core.chat(named: "club"), before: nil, count: 10)
            return items.first { $0.file?.name == name }?.file?.status
        }
        for number in 10..<10 + UInt8(ReceptionBudgetTable.groupFactor) {
            try spend(ReceptionBudget.maxFiles, of: StoreStage.member(number))
        }
        #expect(try await send("a") == .rcvAccepted)
        try spend(ReceptionBudget.maxFiles / 4 - 1, of: HostileGroupTests.carol)
        guard case .rcvError(let problem) = try await send("b") else {
            Issue.record("it is taken")
            return
        }
        #expect(problem.kind == .neverUploaded)
        await stage.core.shutDown()
    }

    @Test func damagedDescriptionsAreReadOnce() async throws {
        let stage = try await ToldStage()
        let count = 2 * FileReceiver.batch + 2
        try stage.core.store.commit { change in
            for number in 0..<count {
                let time = change.time
                let item = try change.tables.items.insertReceived(
                    ItemTable.NetworkMessage(
                        sender: "bob", time: time, content: MessageContent(kind: .image(preview: "")),
                        created: time, fileName: "\(number).jpg", size: 10, transport: .xftp,
                        expires: number == 0 ? time : time.advanced(by: FilePolicy.relayRetention)),
                    in: stage.chat)
                let file = try #require(try change.tables.items.item(item)?.file).id
                try change.tables.uploads.describe(file, "damaged")
            }
        }
        await stage.core.shutDown()

        let later = try await stage.world.open("alice", over: ToldAgent(isEarly: false) { _ in nil }.making)
        try await wait(until: "all but the expired one have failed") {
            try await later.items(of: later.chat(named: "bob"), before: nil, count: 1000).count {
                if case .rcvError(let problem) = $0.file?.status { problem.kind == .damaged } else { false }
            } == count - 1
        }
        await later.shutDown()
    }

    @Test func fullDiskMakesUnaskedDownloadsOffersAgain() async throws {
        let stage = try await ToldStage()
        let full = TransferFailure(problem: FileProblem(.noSpace, "It is full."), isTemporary: true)
        stage.world.relay.state.withLock { $0.downloadFailures = [full] }
        let file = try await stage.offer("a.jpg", size: 1000, stage.world.relay.put(pattern(1000)))
        try await wait(until: "it is given up") {
            try await stage.status(of: file) == .rcvAborted(full.problem)
        }
        let part = stage.core.store.folders.incomingPath(of: file)
        try await wait(until: "nothing is left of it") { access(part, F_OK) != 0 }
        #expect(stage.world.relay.state.withLock { $0.downloads } == 1)

        // A requested file is retried until there is space.
        stage.world.relay.state.withLock { $0.downloadFailures = [full, full] }
        try await stage.core.receiveFile(file, approvedRelays: false)
        try await wait(until: "it is here") { try await stage.status(of: file) == .rcvComplete }
        #expect(stage.world.relay.state.withLock { $0.downloads } == 4)
        await stage.core.shutDown()
    }
}

@Suite struct ReceptionBudgetTests {
    private static let now = ElapsedTime(seconds: 1_800_000)

    @Test func bytesOfADayAreBounded() {
        var budget = ReceptionBudget(since: Self.now)
        var count: UInt64 = 0
        let later = Self.now.advanced(by: .seconds(3600))
        while budget.allows(FilePolicy.autoReceiveVideo, free: nil, at: later), count < 1000 {
            budget.spend(FilePolicy.autoReceiveVideo, at: later)
            count += 1
        }
        #expect(count == ReceptionBudget.maxBytes / FilePolicy.autoReceiveVideo)
        #expect(budget.allows(1, free: nil, at: later) && !budget.allows(.max, free: nil, at: later))
        let next = Self.now.advanced(by: ReceptionBudget.period)
        #expect(budget.allows(FilePolicy.autoReceiveVideo, free: nil, at: next))
    }

    @Test func connectedMembersShareGroupsBudget() throws {
        let stage = try StoreStage()
        let chat = try stage.group(1)
        let last = 10 + UInt8(ReceptionBudgetTable.groupFactor)
        try stage.change { tables in
            let budgets = tables.network.budgets
            func allows(_ author: Author, at time: ElapsedTime = StoreStage.elapsed) throws -> Bool {
                try budgets.allow(1, of: author, in: chat, free: nil, at: time)
            }
            for number in 10...last {
                let member = StoreStage.member(number)
                try tables.memberConnections.begin(
                    MemberConnection(to: member, introducer: StoreStage.member(2), phase: .connected),
                    in: chat, at: StoreStage.elapsed)
                #expect(try allows(.member(member)) == (number < last))
                guard number < last else { break }
                for _ in 0..<ReceptionBudget.maxFiles {
                    try budgets.spend(1, of: .member(member), in: chat, at: StoreStage.elapsed)
                }
                #expect(try !allows(.member(member)))
            }
            let next = StoreStage.elapsed.advanced(by: ReceptionBudget.period)
            #expect(try allows(.member(StoreStage.member(last)), at: next))
        }
    }

    @Test func forwardedAuthorLeavesOthersTheirShare() throws {
        let stage = try StoreStage()
        let chat = try stage.group(1)
        try stage.change { tables in
            let budgets = tables.network.budgets
            func allows(_ number: UInt8) throws -> Bool {
                try budgets.allow(
                    1, of: .member(StoreStage.member(number)), in: chat, free: nil, at: StoreStage.elapsed)
            }
            func exhaust(_ number: UInt8) throws -> Int {
                var count = 0
                while try allows(number), count <= ReceptionBudget.maxFiles {
                    try budgets.spend(
                        1, of: .member(StoreStage.member(number)), in: chat, at: StoreStage.elapsed)
                    count += 1
                }
                return count
            }
            let counts = try (UInt8(10)..<14).map { try exhaust($0) }
            #expect(counts == Array(repeating: ReceptionBudget.maxFiles / 4, count: 4))
            #expect(try !allows(14))
            // The host's own files do not pay for forwarded ones.
            #expect(try allows(2))
        }
    }

    @Test(
        arguments: [
            (0, false), (FilePolicy.minimumFree + 9, false), (FilePolicy.minimumFree + 10, true),
            (UInt64.max, true), (nil, true),
        ] as [(UInt64?, Bool)])
    func unaskedFilesLeaveSpaceOnTheDisk(free: UInt64?, isAllowed: Bool) {
        #expect(ReceptionBudget(since: Self.now).allows(10, free: free, at: Self.now) == isAllowed)
    }
}

extension ToldStage {
    /// Bob sends a picture on a relay.
    @discardableResult
    func offer(_ name: String, size: UInt64, _ description: String) async throws -> FileID {
        let id = SharedMessageID(from: SystemRandomSource())
        let content = ChatContent(.image(preview: "data:image/jpg;base64,AA=="))
        try await say(
            .message(NewMessage(content, file: FileInvitation(name: name, size: size))), as: id)
        for part in DescriptionPart.parts(of: description, limit: 15_000) {
            try await say(.description(of: id, part))
        }
        return try await wait(for: "\(name) with its description") {
            let file = try await items.first { $0.file?.name == name }?.file
            return file?.status == .rcvInvitation(described: false) ? nil : file?.id
        }
    }

    var items: [ChatItem] {
        get async throws {
            try await core.items(of: core.chat(named: "bob"), before: nil, count: 1000)
        }
    }

    func status(of file: FileID) async throws -> FileStatus? {
        try await items.first { $0.file?.id == file }?.file?.status
    }
}
