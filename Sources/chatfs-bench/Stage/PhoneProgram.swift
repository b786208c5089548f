import Glibc
import Posix

/// The official program as a phone: it scans links and confirms codes. Its history is written into its database.
struct PhoneProgram: Sendable {
    let chats: Int
    let filesInEach: Int
    private let program: OfficialChatProgram
    private let stage: Stage

    /// A file in its notes.
    struct File: Sendable {
        let name: String
        /// The phone's number of it.
        let number: Int64
        let size: Int
        /// The same bytes on the plain filesystem.
        let plain: String
    }

    /// The folder of the notes on a mount.
    static let notes = "Saved notes"

    var count: Int { chats * filesInEach }

    static func start(on stage: Stage) async throws -> PhoneProgram {
        let programs = try OfficialPrograms.find(stage.plan, ["simplex-chat"])
        let program = try await OfficialChatProgram.start(
            "bob", programs, after: [], options: ["--device-name", "Telephone"], on: stage)
        let phone = PhoneProgram(
            chats: stage.plan.isQuick ? 100 : 1000, filesInEach: 100, program: program, stage: stage)
        for statement in phone.history {
            try await program.command("/sql chat " + statement, on: stage)
        }
        return phone
    }

    /// Contacts with received files, as the program itself writes them.
    private var history: [String] {
        let (first, now) = (1001, "strftime('%Y-%m-%d %H:%M:%f','now')")
        func numbers(_ start: Int, _ count: Int) -> String {
            "WITH RECURSIVE n(i) AS (SELECT \(start) UNION ALL SELECT i+1 FROM n WHERE i<\(start + count - 1)) SELECT "
        }
        let (each, files) = (numbers(first, chats), numbers(first * filesInEach, count))
        let contact = "i/\(filesInEach)"
        let time =
            "strftime('%Y-%m-%d %H:%M:%f','now','-'||(\(first + chats)-\(contact))||' minutes')"
        let content = #"{"rcvMsgContent":{"msgContent":{"type":"file","text":""}}}"#
        return [
            "INSERT INTO display_names(user_id,local_display_name,ldn_base,ldn_suffix,created_at,updated_at) "
                + each + "1,'contact '||i,'contact '||i,0,\(now),\(now) FROM n",
            "INSERT INTO contact_profiles(contact_profile_id,display_name,full_name,created_at,updated_at,user_id,"
                + "local_alias) " + each + "i,'contact '||i,'',\(now),\(now),1,'' FROM n",
            "INSERT INTO contacts(contact_id,contact_profile_id,user_id,local_display_name,created_at,updated_at,"
                + "contact_used,chat_ts) " + each + "i,i,1,'contact '||i,\(now),\(now),1,"
                + "strftime('%Y-%m-%d %H:%M:%f','now','-'||(\(first + chats)-i)||' minutes') FROM n",
            "INSERT INTO chat_items(chat_item_id,user_id,contact_id,item_sent,item_ts,item_content,item_text,"
                + "item_status,msg_content_tag,item_content_tag,created_at,updated_at) " + files
                + "i,1,\(contact),0,\(time),'\(content)','','rcv_read','file','rcvMsgContent',\(time),\(time) FROM n",
            "INSERT INTO files(file_id,contact_id,file_name,file_path,file_size,chunk_size,created_at,user_id,"
                + "chat_item_id,updated_at,ci_file_status,protocol) " + files
                + "i,\(contact),'IMG_'||i||'.jpg','IMG_'||i||'.jpg',250000+i,16384,\(now),1,i,\(now),"
                + "'rcv_complete','xftp' FROM n",
            "INSERT INTO rcv_files(file_id,file_status,created_at,updated_at) " + files
                + "i,'complete',\(now),\(now) FROM n",
        ]
    }

    /// Adds a file to its notes, under several names for several transfers of the same bytes.
    func add(_ name: String, size: Int, seed: UInt64, copies: Int) async throws -> [File] {
        let plain = stage.plain(name)
        try await ThreadPool.shared.run { try FileWork.make(plain, size: size, seed: seed) }
        var files: [File] = []
        for copy in 1...copies {
            let named = "\(copy) \(name)"
            let path = program.files + "/" + named
            try check("name a file") { link(plain, path) }
            let answer = try await program.command(
                #"/_create *1 json [{"fileSource":{"filePath":"\#(named)"},"msgContent":{"type":"file","text":""},"#
                    + #""mentions":{}}]"#, on: stage)
            guard let place = answer.firstRange(of: #""fileId":"#),
                let number = Int64(answer[place.upperBound...].prefix(while: \.isNumber))
            else { throw BenchError(.failed, "The official program stored no file.") }
            files.append(File(name: named, number: number, size: size, plain: plain))
        }
        return files
    }

    /// A file that a computer has stored.
    func path(of name: String) -> String { program.files + "/" + name }

    // MARK: - Sessions

    /// Scans a link. Returns the code that it shows. Waits for the end of the previous session.
    func connect(_ link: String) async throws -> String {
        while try await program.command("/list remote ctrls", on: stage).contains(#""sessionState""#) {
            try await Task.sleep(for: .milliseconds(50))
        }
        program.forgetOutput()
        try await program.command("/connect remote ctrl " + link, on: stage)
        return try await program.string("sessionCode", on: stage)
    }

    /// Its user compares the code and confirms. Returns when the session has begun.
    func confirm(_ code: String) async throws {
        try await program.command("/verify remote ctrl " + code, on: stage)
    }
}
