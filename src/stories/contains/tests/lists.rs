//! One list of three stories in the formats.

pub const SECTIONS: &str = "# Plan

Use make.

## 1. a
First.
- [ ] 1.1 a.txt
- [ ] 1.2 tests

## 2. b (after 1)
- [ ] 2.1 b.txt has all ten lines
- [ ]* 2.2 tests for it

## 3. c
Read this.
- [x] 3.1 c.txt
";

pub const ITEMS: &str = "# Plan

Use make.

- [ ] 1. a

  First.
  - [ ] 1.1 a.txt
  - [ ] 1.2 tests
- [ ] 2. b (after 1)
  - [ ] 2.1 b.txt has all ten lines
  - [ ]* 2.2 tests for it
- [x] 3. c
  Read this.
";

pub const OBJECTS: &str = r#"{
  "project": "p",
  "userStories": [
    { "id": "1", "title": "a", "body": "First.", "passes": false, "notes": "",
      "acceptanceCriteria": ["1.1 a.txt", "1.2 tests"] },
    { "id": "2", "title": "b", "passes": false, "dependsOn": ["1"],
      "acceptanceCriteria": ["2.1 b.txt has all ten lines", { "text": "2.2 tests for it", "done": false }] },
    { "id": "3", "title": "c", "body": "Read this.", "passes": true, "acceptanceCriteria": [] }
  ]
}
"#;
