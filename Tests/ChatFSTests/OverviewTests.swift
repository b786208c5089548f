import FileSystem
import Foundation
import Testing

@testable import chatfs

/// The output of `chatfs` without a command.
@Suite struct OverviewTests {
    private func mount(_ members: String) throws -> Overview.Mount {
        let text = """
            {"profile":"ann","mountpoint":"/c","pid":1,"mountedAt":1,"controlFolder":"/d","chats":1,"entries":2,\
            "cachedBytes":0,"requests":0,\(members)}
            """
        let status = try #require(MountStatus.decoded(Array(text.utf8)), "\(text)")
        return Overview.Mount(mountpoint: "/c", status: status, isDead: false)
    }

    private func lines(_ mounts: [Overview.Mount], _ data: Overview.Data = .open) -> String {
        Overview(mounts: mounts, data: data).lines.joined(separator: "\n")
    }

    @Test func overviewWithoutMountSuggestsFirstSteps() {
        #expect(lines([], .none).contains("chatfs demo") && lines([], .none).contains("chatfs pair"))
        #expect(lines([], .locked).contains("chatfs unlock") && lines([], .locked).contains("chatfs mount"))
        #expect(!lines([], .open).contains("chatfs unlock"))
        #expect(lines([], .unreadable("/d")).contains("chatfs doctor"))
    }

    @Test func overviewCountsActiveAndListsStoppedTransfers() throws {
        let moving = #"{"path":"bob/a","state":"sending","progress":7,"size":1000}"#
        let stopped = #"{"path":"bob/b","state":"failed","progress":0,"size":1,"error":"no relay"}"#
        let text = lines([try mount(#""transfers":[\#(moving),\#(stopped)]"#)])
        #expect(
            text.contains("ann at /c: 1 transfer, 70 B of 1.0 kB (7 %)")
                && text.contains("sending 7 %  bob/a"))
        #expect(text.contains("Needs your action:\n  /c/bob/b: no relay"), "\(text)")
    }

    @Test func idleMountHasOneLine() throws {
        #expect(lines([try mount(#""transfers":[]"#)]) == "ann at /c: no transfers")
    }

    @Test func deadMountSuggestsUnmount() {
        let text = lines([Overview.Mount(mountpoint: "/c", status: nil, isDead: true)])
        #expect(text.contains("chatfs unmount /c"))
    }
}

/// Lines on a terminal.
@Suite struct ScreenTests {
    private func block(_ name: String, _ count: Int) -> [String] { (0..<count).map { "\(name)\($0)" } }

    @Test func fittingContentIsComplete() {
        let blocks = [block("a", 3), block("b", 4)]
        #expect(Screen(width: 80, height: 24).fit(blocks) == blocks.flatMap { $0 })
    }

    @Test(arguments: [4, 10, 24, 50])
    func contentNeverScrolls(_ height: Int) {
        let lines = Screen(width: 20, height: height).fit([block("a", 2_000), block("b", 3), block("c", 900)])
        #expect(lines.count <= height - 1 && lines.allSatisfy { $0.count <= 20 })
        if height >= 10 {
            #expect(lines.contains("b2") && lines.contains { $0.contains("more") }, "\(lines)")
        }
    }

    @Test func longLinesAreCut() {
        let lines = Screen(width: 10, height: 24).fit([[String(repeating: "x", count: 40)]])
        #expect(lines == ["xxxxxxxx…"])
    }

    @Test func wideCharactersDoNotWrap() throws {
        let frame = Screen.frame(Screen(width: 10, height: 24).fit([["文文文文文文文文", "b"]]))
        let line = try #require(frame.firstRange(of: "文"))
        #expect(frame[..<line.lowerBound].contains("\u{1B}[?7l") && frame.hasSuffix("\u{1B}[?7h"))
    }
}

/// Words of the command line that mean something else.
@Suite struct GivenWordTests {
    @Test func wrongLinkKindNamesCommand() {
        let relay = "smp://\(String(repeating: "A", count: 43))=@relay.example"
        #expect(GivenLink(relay) == .relay && GivenLink("hello") == nil)
        #expect(GivenLink("simplex:/file#/?desc=x") == .file)
        let error = #expect(throws: (any Error).self) { try GivenLink.require([.person], relay) }
        #expect("\(String(describing: error))".contains("chatfs relay add"))
        #expect(throws: Never.self) { try GivenLink.require([.person], "no link at all") }
    }

    @Test func addressesAreFoundInSentences() {
        let text = "To allow them: chatfs approve xftp://a@b:1 'smp://c@d'. And (xftp://e@f)."
        #expect(FileApproval.addresses(in: text) == ["xftp://a@b:1", "smp://c@d", "xftp://e@f"])
        #expect(FileApproval.addresses(in: "") == [])
    }

    @Test func ownServersReplaceOperatorServers() throws {
        let key = String(repeating: "A", count: 43) + "="
        let own = [try #require(AnyRelay("xftp://\(key)@relay.example"))]
        let presets = RelayOperator.simplex.relays
        let replaced = RelayOperator.replaced(by: own, in: presets + own)
        #expect(!replaced.isEmpty && replaced.allSatisfy { $0.isForFiles && $0 != own[0] })
        #expect(RelayOperator.replaced(by: [presets[0]], in: presets).isEmpty)
    }
}
