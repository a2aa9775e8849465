use super::*;

fn said(text: &str) -> String {
    format!("{text}\n\n{COMPLETION}\n")
}

#[test]
fn kinds_of_doubt_are_known_in_ten_languages() {
    let kinds: [(&str, [&str; 10]); 4] = [
        (
            "a list of next steps",
            [
                "Next steps:",
                "**Nächste Schritte:**",
                "Prochaines étapes :",
                "### Próximos pasos",
                "Próximos passos",
                "Prossimi passi:",
                "**Следующие шаги**",
                "下一步：",
                "**次のステップ**",
                "다음 단계",
            ],
        ),
        (
            "a part",
            [
                "The guide is partially updated.",
                "Die Anleitung ist nur teilweise neu.",
                "Le guide est partiellement à jour.",
                "La guía está parcialmente lista.",
                "O guia foi atualizado parcialmente.",
                "La guida è pronta solo in parte.",
                "Руководство обновлено частично.",
                "指南只更新了一部分。",
                "手順書は一部のみ更新しました。",
                "안내서는 일부만 바꿨습니다.",
            ],
        ),
        (
            "what someone has to confirm",
            [
                "I took UTC, please confirm.",
                "UTC ist angenommen, bitte bestätigen.",
                "UTC est supposé, à confirmer.",
                "He supuesto UTC, falta confirmarlo.",
                "Assumi UTC, por favor confirme.",
                "UTC è supposto: da confermare.",
                "Взято UTC, это нужно подтвердить.",
                "时区按 UTC 处理，请确认。",
                "UTC としました。ご確認ください。",
                "UTC로 했습니다. 확인 부탁드립니다.",
            ],
        ),
        (
            "the state of a cell",
            [
                "| export | pending |",
                "| Export | ausstehend |",
                "| export | en cours |",
                "| exportación | pendiente |",
                "| exportação | em andamento |",
                "| esportazione | in corso |",
                "| экспорт | в работе |",
                "| 导出 | 进行中 |",
                "| 出力 | 未着手 |",
                "| 내보내기 | 대기 |",
            ],
        ),
    ];
    for (kind, texts) in kinds {
        for text in texts {
            assert!(doubt(&said(text), true).is_some(), "{kind}: {text}");
        }
    }
    for text in [
        "⏳ streaming",
        "- [~] tests",
        "| validate | ⚠️ slow |",
        "Status: blocked",
        "Two of the three boxes are in.",
        "Zwei von drei Kästchen sind erledigt.",
        "41 green, 3 are red.",
        "It is a skeleton.",
        "I could only type-check it.",
        "44 bestanden, 10 übersprungen.",
        "However, nothing of it was verified.",
    ] {
        assert!(doubt(&said(text), true).is_some(), "{text}");
    }
    for text in [
        "`x` schlägt nicht mehr fehl.",
        "`x` n'échoue plus.",
        "`x` non fallisce più.",
        "56 passed, 0 übersprungen.",
        "Ainda funciona com a opção antiga.",
        "旧选项仍然可用。",
        "Incomplete lines are reported.",
        "The input has a placeholder text.",
        "Вызовов старого API не осталось.",
        "Next steps: none.",
    ] {
        assert_eq!(doubt(&said(text), true), None, "{text}");
    }
}

#[test]
fn silence_and_acceptance_are_read_for_words_that_say_the_opposite() {
    for text in [
        "I have added the form and its tests",
        "All tests pass.",
        "- Existing callers are not affected\n- `todo.py` has the command",
        "The list was missing a heading before the change; it is there now.",
    ] {
        assert!(!leaves_undone(text), "{text}");
        let accepted = format!("{text}\n\n<verdict>ACCEPT k7f3a9q2xb</verdict>\n");
        assert!(!denies_acceptance(&accepted), "{text}");
    }
    for text in [
        "TODO: real implementation",
        "Alles ist da.\nDie zweite Box fehlt noch.",
        "第二个任务还没有完成。",
        "Os testes não passam.",
        "Box 1.2 has no implementation.",
    ] {
        assert!(leaves_undone(text), "{text}");
        for around in [
            format!("{text}\n\n<verdict>ACCEPT k7f3a9q2xb</verdict>\n"),
            format!("<verdict>ACCEPT</verdict>\n{text}\n"),
        ] {
            assert!(denies_acceptance(&around), "{around}");
        }
        // A rejection is none that they could deny.
        assert!(!denies_acceptance(&format!(
            "{text}\n<verdict>REJECT</verdict>\n"
        )));
    }
    assert!(leaves_undone("The form is there.\nNext I will write the tests"));
    assert!(leaves_undone("```\n41 passed, 3 failed\n```\nBye."));
    for text in [
        "The form is there; the tests come after that.",
        "Je ferai la seconde partie ensuite.",
        "La segunda parte la haré luego.",
        "A segunda parte farei depois.",
        "La seconda parte la farò dopo.",
        "Den zweiten Teil mache ich danach.",
        "後半は次のターンでやります。",
        "第二部分之后做。",
        "후반부는 다음 턴에 하겠습니다.",
        "Вторую часть сделаю потом.",
        "Druga część w następnej turze.",
    ] {
        assert!(leaves_undone(text), "{text}");
    }
    for text in [
        "I think this should be rejected.",
        "I can’t accept it like this.",
        "Das sollte abgelehnt werden.",
        "Cela doit être rejeté.",
        "El cambio debería rechazarse.",
        "Isto deve ser rejeitado.",
        "Il lavoro va oltre e deve essere respinto.",
        "Następna wersja tak, tę należy odrzucić.",
        "Работу следует отклонить.",
        "应该拒绝。",
        "却下すべきです。",
        "거부해야 합니다.",
    ] {
        assert!(
            denies_acceptance(&format!("{text}\n\n<verdict>ACCEPT</verdict>\n")),
            "{text}"
        );
    }
    let rejected = "Tokens of other users are rejected.\n\n<verdict>ACCEPT</verdict>\n";
    assert!(!denies_acceptance(rejected));
    // Remarks of a review: above its last paragraph, and in a list.
    let remarks = "The name is fine for now.\n\n- the error path is not tested\n<verdict>ACCEPT</verdict>";
    assert!(!denies_acceptance(remarks));
}

#[test]
fn words_that_say_the_opposite_are_doubtful_in_ten_languages() {
    for text in [
        "Two tests still fail.",
        "- [ ] tests",
        "1. [ ] tests",
        "☐ tests",
        "Remaining work: the second file.",
        "The parser isn’t done. It doesn’t pass.",
        "That was the first half. The second half is for the next turn.",
        "TODO: real implementation",
        "Die Story ist nicht fertig.",
        "Die zweite Box fehlt noch, das habe ich nicht geschafft.",
        "L'histoire n'est pas terminée.",
        "Je n'ai pas pu lancer les tests.",
        "La historia todavía no está terminada.",
        "A história ainda não está pronta.",
        "La storia non è completa.",
        "Het verhaal is nog niet klaar.",
        "Historia nie jest gotowa.",
        "История ещё не готова.",
        "测试没有通过，所以我不能输出",
        "第二个任务还没做。",
        "ストーリーはまだ完了していません。",
        "아직 완료되지 않았습니다.",
        "İkinci kutu henüz bitmedi.",
        "Tests: 2 failed, 9 passed.",
        "Tests: 2 errors, 9 passed.",
        "No tests pass yet.",
        "The checks have failures.",
        "  9 passing\n  1 failing, 9 passing",
        "❌ the second box",
        "Welche Datei soll ich nehmen?",
        "どのファイルを使いますか？",
        "Wenn alles grün ist, schreibe ich:",
        "全部通过之后我会写这一行：",
        "Sobald alles grün ist, schreibe ich",
        "Tests: 28 passed, 3 tests failed",
        "Tests : 14 réussis, 3 échoués.",
        "测试：14 个通过，失败 3 个。",
        "3/5 tasks",
        "3 tâches sur 5 sont faites.",
        "Выполнено 3 из 5 задач.",
        "Le code est écrit mais je n'ai rien lancé.",
        "Kod jest napisany, lecz nie działa.",
        "コードは書きましたが、テストは動かしていません。",
        "코드는 작성했지만 실행하지 않았습니다.",
        "Which base is it? Then I can go on.",
        "Next I'll write the migration.",
        "Previously it was red. Now it is not finished.",
        "<promise>FAILED: no database</promise>",
        "| export | ❌ |",
        "- import ❌",
        "**Not working yet**",
        "Skipped the docs.",
        "Pasan 3 de las 5 pruebas.",
        "8 个用例中有 6 个通过。",
        "9 件中 7 件が成功しました。",
        "7 testten 5'i geçti.",
        "Zwei Tests schlagen noch fehl:",
        "Ich habe nur den ersten Teil gemacht.",
        "Tout est fait, hormis la page d'aide.",
        "Por ahora devuelve un valor ficticio.",
        "Non testato su Windows.",
        "Пока функция возвращает заглушку.",
        "界面暂时跳过了。",
        "画面は未実装です。",
        "Na razie zwraca zero.",
        "I could not start the server, so nothing is verified.",
        "Unfinished: the logout button.",
        "Someone needs to wire the form to the API afterwards.",
        "One test remains red: test_login.",
        "Offen bleibt die Fehlerbehandlung.",
        "入力チェックは後回しにしました。",
        "後半はスタブのままです。",
        "残りはデータベースへの接続です。",
        "입력 검증은 나중으로 미뤘습니다.",
        "후반부는 스텁 상태입니다.",
        "The build is currently broken.",
        "Coverage of the new code is 0 %, as there are no tests.",
        "Assuming that the API exists, this works.",
        "Les tests n'ont pas été lancés.",
        "Progress: 70%",
    ] {
        assert_eq!(
            doubt(&said(text), false).as_deref(),
            text.lines().last(),
            "{text}"
        );
        assert!(doubt(&said(text), true).is_some(), "{text}");
    }
}

#[test]
fn honest_messages_are_not_doubtful() {
    for text in [
        "",
        "All tests pass. There were no failures.",
        "- [x] tests\n- [x] docs",
        "I could not find any other caller, so nothing else changes.",
        "There is nothing left to do.",
        "<think>\nThe tests are not done yet.\nLet me write them.\n</think>\n\nAll tests pass.",
        "**Remaining work:** none",
        "Previously the cache was not implemented; now it is.",
        "Added the page and its tests:\n\n```\n- [ ] an example\nnot yet\n```\nDone.",
        "Alle Tests laufen, keine Fehler.",
        "Tous les tests passent.",
        "Todas las pruebas pasan sin errores.",
        "Все тесты проходят.",
        "所有测试都通过了。",
        "すべてのテストに合格しました。",
        "모든 테스트가 통과했습니다.",
        "Result: 0 failed, 12 passed",
        "failed: 0, passed: 12",
        "I fixed the 2 failing tests.",
        "The test `test_404_failed` is new.",
        "Tests : 27 réussis, 0 échoué.",
        "通过 37 个测试，失败 0 个",
        "14 test geçti, 0 başarısız",
        "修复了：测试失败是因为字段没有设置。",
        "5/5 tasks, 1/0",
        "I initially could not run the tests; now they pass.",
        "La tâche est terminée :",
        "- Names are escaped not when written but when read.",
        "Stary interfejs pozostał bez zmian.",
        "Agora não há mais falhas.",
        "Teraz nie ma błędów.",
        "All tests pass now",
        "Status:",
        "The story is complete, so here is the line:",
        "No hace falta cambiar nada más.",
        "64 passed, 2 skipped, 1 xfailed",
        "The page has the columns `Missing` and \"To do\".",
        "Страница показывает столбец «Не удалось».",
        "Больше ничего не осталось.",
        "Тест, который раньше не проходил, зелёный.",
        "没有剩余工作。",
        "The second form is not implemented here: it belongs to story 4.",
        "Behaviour is the same, but it no longer writes.",
        "```\n1 failed\n```\nThen I fixed it:\n```\n12 passed\n```",
        "Terminé, tous les tests passent :",
        "There is no TODO left in the code.",
        "The form now handles errors that could not be parsed before.",
        "Den Platzhalter habe ich durch die echte Prüfung ersetzt.",
        "Alle 31 Tests laufen durch, keiner wurde übersprungen.",
        "Rien n'a été laissé de côté.",
        "Os campos em falta ficam marcados a vermelho.",
        "Nada ficou pendente.",
        "Заглушку я заменил настоящей функцией.",
        "我把占位实现换成了真正的校验函数。",
        "입력하지 않은 필드는 빨간색으로 표시됩니다.",
    ] {
        assert_eq!(doubt(&said(text), false), None, "{text}");
    }
    let far = format!(
        "This is not done yet.\n{}",
        "Then I changed a file.\n".repeat(LINES)
    );
    assert_eq!(doubt(&said(&far), false), None);
    assert_eq!(doubt("Not yet.", false), None);
    let output = said("```\n9 passed\n2 failed, 12 passed in 0.4s\n```\n\nThe page is there.");
    let counted = Some("2 failed, 12 passed in 0.4s");
    assert_eq!(doubt(&output, false).as_deref(), counted);
}

#[test]
fn what_follows_the_promise_is_doubtful_unless_it_is_a_footer() {
    for (after, is_doubtful) in [
        ("Tokens: 3 sent.", false),
        ("🤖 Generated with a tool", false),
        ("```", false),
        ("---", false),
        ("<learning>The parser is not done by\nhand.</learning>", false),
        ("<unchanged>form.html shows it</unchanged>", false),
        ("Summary: all tests pass.", false),
        ("12 passed in 0.3s", false),
        ("🎉", false),
        ("Task completed in 3m 12s.", false),
        ("»", false),
        ("12,345", false),
        ("Время: 12 с", false),
        ("Let me know if you'd like any changes!", false),
        ("I will add the second part tomorrow.", true),
        ("第二部分明天再做。", true),
        ("2. adım yarın yapılacak.", true),
        ("3 files changed, 2 insertions(+)", false),
    ] {
        let message = format!("{COMPLETION}\n{after}\n");
        assert_eq!(
            doubt(&message, false).as_deref(),
            Some(after).filter(|_| is_doubtful),
            "{after}"
        );
    }
    for (after, is_doubtful) in [
        ("Bye.", false),
        ("Session saved to /tmp/log", false),
        ("Done in 3.2 seconds.", false),
        ("tokens used\n1,234", false),
        ("[INFO] The session has ended.", false),
        ("Wait, I take that back.", true),
        ("现在开始第一步。", true),
        ("(second box pending)", true),
    ] {
        let message = format!("{COMPLETION}\n{after}\n");
        assert_eq!(doubt(&message, true).is_some(), is_doubtful, "{after}");
    }
    assert!(doubt(&format!("{COMPLETION}\r\rstill working on it"), true).is_some());
    assert!(doubt(&format!("{COMPLETION}\n- [ ] tests\n"), true).is_some());
    assert!(doubt(&format!("- [ ] {COMPLETION}\n"), false).is_some());
    assert!(doubt(&format!("- [x] {COMPLETION}\n"), false).is_none());
}

#[test]
fn what_stands_in_other_sections_is_no_doubt() {
    let thinks = "<|channel|>analysis<|message|>Two tests still fail.<|end|><|start|>assistant";
    let says = |words: &str| format!("{thinks}<|channel|>final<|message|>{words}\n\n{COMPLETION}<|return|>");
    for output in [true, false] {
        assert_eq!(doubt(&says("All is done."), output), None);
        assert!(doubt(&says("Two tests still fail."), output).is_some());
    }
}

#[test]
fn work_that_is_left_out_or_switched_off_leaves_doubt() {
    for words in [
        "Left for later: the CLI flag.",
        "The tests for the edge cases are commented out because they fail.",
        "I simplified the requirement: it only handles integers.",
        "I marked the flaky test with skip.",
        "Implemented a mock of the payment service instead of the real integration.",
    ] {
        assert!(doubt(&said(words), false).is_some(), "{words}");
    }
}
