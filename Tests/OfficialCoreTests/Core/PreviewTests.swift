import ChatCore
import ScriptedCore
import Testing

@testable import OfficialCore

@Suite("Previews of an official core")
struct PreviewTests {
    @Test(arguments: ["data:image/jpg;base64,AAAA", ""])
    func asked(preview: String) async throws {
        let stage = try Stage { core in
            var message = ScriptedMessage(id: 1, contact: 1, name: "a.jpg")
            message.type = "image"
            message.preview = preview
            core.history.append(message)
            core.history.append(ScriptedMessage(id: 2, contact: 1, name: "b.pdf"))
        }
        let core = try await stage.open()
        #expect(await eventually { (try? await core.item(ItemID(1), in: .direct(1))) != nil })
        let item = try await core.item(ItemID(1), in: .direct(1))
        #expect(item.hasPreview == !preview.isEmpty)
        #expect(item.content.preview == "")
        #expect(try await core.preview(of: ItemID(1), in: .direct(1)) == preview)
        #expect(await eventually { (try? await core.item(ItemID(2), in: .direct(1))) != nil })
        #expect(try await core.preview(of: ItemID(2), in: .direct(1)) == "")
        #expect(try await !core.item(ItemID(2), in: .direct(1)).hasPreview)
        await #expect(throws: ChatError.self) { try await core.preview(of: ItemID(3), in: .direct(1)) }
        await core.shutDown()
    }
}
