//! TypeScript eraser: blanks what is only types, so that what is left is JavaScript with every character where it was.
//! What would have to be rewritten (enums, namespaces, parameter properties) is refused by its name.

use oxc_allocator::Allocator;
use oxc_ast::ast;
use oxc_ast_visit::{Visit, walk};
use oxc_parser::Parser;
use oxc_span::{GetSpan, SourceType, Span};

/// The text without its types; `None` when it is no TypeScript either, and an error for what can not be erased.
pub(super) fn erase(text: &str) -> Option<Result<String, String>> {
    let allocator = Allocator::default();
    let parsed = Parser::new(&allocator, text, SourceType::ts().with_script(true)).parse();
    if parsed.panicked || !parsed.diagnostics.is_empty() {
        return None;
    }
    let mut eraser = Eraser { text, blanks: Vec::new(), refused: None };
    eraser.visit_program(&parsed.program);
    if let Some(what) = eraser.refused {
        return Some(Err(format!(
            "SyntaxError: TypeScript's {what} can not be run here; write it as JavaScript"
        )));
    }
    let mut out = text.as_bytes().to_vec();
    for (span, mark) in eraser.blanks {
        let range = span.start as usize..span.end as usize;
        for byte in out.get_mut(range.clone()).unwrap_or_default() {
            if !matches!(byte, b'\n' | b'\r') {
                *byte = b' ';
            }
        }
        if let (Some(mark), Some(first)) = (mark, out.get_mut(range.start)) {
            *first = mark;
        }
    }
    // What is blanked are whole tokens, so that characters stay whole.
    Some(String::from_utf8(out).map_err(|_| "SyntaxError: the types could not be taken off".to_string()))
}

struct Eraser<'t> {
    text: &'t str,
    blanks: Vec<(Span, Option<u8>)>,
    refused: Option<&'static str>,
}

impl Eraser<'_> {
    fn blank(&mut self, start: u32, end: u32) {
        if start < end {
            self.blanks.push((Span::new(start, end), None));
        }
    }

    /// A statement goes; what stands before it must not run into what follows.
    fn blank_statement(&mut self, span: Span) {
        self.blanks.push((span, Some(b';')));
    }

    fn refuse(&mut self, what: &'static str) {
        self.refused.get_or_insert(what);
    }

    /// Blanks the first such mark after a place, if nothing but space is between.
    fn blank_mark(&mut self, after: u32, mark: char) {
        let rest = &self.text[after as usize..];
        let space = rest.len() - rest.trim_start().len();
        if rest[space..].starts_with(mark) {
            let at = after + space as u32;
            self.blank(at, at + 1);
        }
    }

    /// Blanks modifiers that only types have, between two places.
    fn blank_modifiers(&mut self, start: u32, end: u32) {
        const WORDS: &[&str] =
            &["public", "private", "protected", "readonly", "override", "declare", "abstract"];
        let between = &self.text[start as usize..end as usize];
        let mut at = 0;
        while at < between.len() {
            let rest = &between[at..];
            let length = rest.find(|c: char| !c.is_alphanumeric()).unwrap_or(rest.len());
            if WORDS.contains(&&rest[..length]) {
                self.blank(start + at as u32, start + (at + length) as u32);
            }
            at += length.max(rest.chars().next().map_or(1, char::len_utf8));
        }
    }

    /// The end of a key of a member, behind its bracket.
    fn key_end(&self, key: Span, computed: bool) -> u32 {
        let rest = &self.text[key.end as usize..];
        match rest.find(']').filter(|_| computed) {
            Some(at) => key.end + at as u32 + 1,
            None => key.end,
        }
    }
}

impl<'a> Visit<'a> for Eraser<'_> {
    fn visit_ts_type_annotation(&mut self, it: &ast::TSTypeAnnotation<'a>) {
        // Whether the colon is part of it or not.
        let before = self.text[..it.span.start as usize].trim_end();
        let start = if before.ends_with(':') { before.len() as u32 - 1 } else { it.span.start };
        self.blank(start, it.span.end);
    }

    fn visit_ts_type_parameter_declaration(&mut self, it: &ast::TSTypeParameterDeclaration<'a>) {
        self.blank(it.span.start, it.span.end);
    }

    fn visit_ts_type_parameter_instantiation(&mut self, it: &ast::TSTypeParameterInstantiation<'a>) {
        self.blank(it.span.start, it.span.end);
    }

    fn visit_ts_as_expression(&mut self, it: &ast::TSAsExpression<'a>) {
        self.visit_expression(&it.expression);
        self.blank(it.expression.span().end, it.span.end);
    }

    fn visit_ts_satisfies_expression(&mut self, it: &ast::TSSatisfiesExpression<'a>) {
        self.visit_expression(&it.expression);
        self.blank(it.expression.span().end, it.span.end);
    }

    fn visit_ts_non_null_expression(&mut self, it: &ast::TSNonNullExpression<'a>) {
        self.visit_expression(&it.expression);
        self.blank(it.expression.span().end, it.span.end);
    }

    fn visit_ts_type_assertion(&mut self, it: &ast::TSTypeAssertion<'a>) {
        self.blank(it.span.start, it.expression.span().start);
        self.visit_expression(&it.expression);
    }

    fn visit_ts_type_alias_declaration(&mut self, it: &ast::TSTypeAliasDeclaration<'a>) {
        self.blank_statement(it.span);
    }

    fn visit_ts_interface_declaration(&mut self, it: &ast::TSInterfaceDeclaration<'a>) {
        self.blank_statement(it.span);
    }

    fn visit_ts_global_declaration(&mut self, it: &ast::TSGlobalDeclaration<'a>) {
        self.blank_statement(it.span);
    }

    fn visit_ts_enum_declaration(&mut self, it: &ast::TSEnumDeclaration<'a>) {
        if it.declare {
            return self.blank_statement(it.span);
        }
        self.refuse("`enum`");
    }

    fn visit_ts_namespace_declaration(&mut self, _: &ast::TSNamespaceDeclaration<'a>) {
        self.refuse("`namespace`");
    }

    fn visit_ts_external_module_declaration(&mut self, it: &ast::TSExternalModuleDeclaration<'a>) {
        self.blank_statement(it.span);
    }

    fn visit_ts_import_equals_declaration(&mut self, _: &ast::TSImportEqualsDeclaration<'a>) {
        self.refuse("`import =`");
    }

    fn visit_ts_export_assignment(&mut self, _: &ast::TSExportAssignment<'a>) {
        self.refuse("`export =`");
    }

    fn visit_ts_this_parameter(&mut self, it: &ast::TSThisParameter<'a>) {
        self.blank(it.span.start, it.span.end);
        self.blank_mark(it.span.end, ',');
    }

    fn visit_ts_index_signature(&mut self, it: &ast::TSIndexSignature<'a>) {
        self.blank(it.span.start, it.span.end);
    }

    fn visit_variable_declaration(&mut self, it: &ast::VariableDeclaration<'a>) {
        if it.declare {
            return self.blank_statement(it.span);
        }
        walk::walk_variable_declaration(self, it);
    }

    fn visit_variable_declarator(&mut self, it: &ast::VariableDeclarator<'a>) {
        if it.definite {
            self.blank_mark(it.id.span().end, '!');
        }
        walk::walk_variable_declarator(self, it);
    }

    fn visit_formal_parameter(&mut self, it: &ast::FormalParameter<'a>) {
        if it.accessibility.is_some() || it.readonly || it.r#override {
            self.refuse("parameter properties");
        }
        if it.optional {
            self.blank_mark(it.pattern.span().end, '?');
        }
        walk::walk_formal_parameter(self, it);
    }

    fn visit_function(&mut self, it: &ast::Function<'a>, flags: oxc_syntax::scope::ScopeFlags) {
        // A declaration, or a signature of an overloaded function.
        if it.body.is_none() {
            return self.blank_statement(it.span);
        }
        walk::walk_function(self, it, flags);
    }

    fn visit_class(&mut self, it: &ast::Class<'a>) {
        if it.declare {
            return self.blank_statement(it.span);
        }
        let name = it.id.as_ref().map_or(it.span.start, |id| id.span.start);
        if it.r#abstract {
            self.blank_modifiers(it.span.start, name.max(it.span.start + 8));
        }
        if let (Some(first), Some(last)) = (it.implements.first(), it.implements.last()) {
            let before = self.text[..first.span.start as usize].trim_end();
            let word = before.len() - "implements".len();
            self.blank(word as u32, last.span.end);
        }
        walk::walk_class(self, it);
    }

    fn visit_ts_class_implements(&mut self, _: &ast::TSClassImplements<'a>) {}

    fn visit_property_definition(&mut self, it: &ast::PropertyDefinition<'a>) {
        let is_only_declared = it.declare || it.r#type != ast::PropertyDefinitionType::PropertyDefinition;
        if is_only_declared {
            return self.blank(it.span.start, it.span.end);
        }
        self.blank_modifiers(it.span.start, it.key.span().start);
        let end = self.key_end(it.key.span(), it.computed);
        if it.optional {
            self.blank_mark(end, '?');
        }
        if it.definite {
            self.blank_mark(end, '!');
        }
        walk::walk_property_definition(self, it);
    }

    fn visit_method_definition(&mut self, it: &ast::MethodDefinition<'a>) {
        if it.value.body.is_none() {
            return self.blank(it.span.start, it.span.end);
        }
        self.blank_modifiers(it.span.start, it.key.span().start);
        if it.optional {
            let end = self.key_end(it.key.span(), it.computed);
            self.blank_mark(end, '?');
        }
        walk::walk_method_definition(self, it);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn erased(code: &str) -> String {
        let text = format!("(async () => {{\n{code}\n}})");
        let out = erase(&text).expect("it is TypeScript").expect("it can be erased");
        assert_eq!(out.len(), text.len(), "every character stays where it was");
        let out = out.strip_prefix("(async () => {\n").unwrap().strip_suffix("\n})").unwrap();
        out.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn types_are_blanked_and_nothing_else() {
        for (code, left) in [
            ("const x: number = 1", "const x = 1"),
            ("let y!: string; y = 'a: b'", "let y ; y = 'a: b'"),
            (
                "function f<T extends object>(a: T, b?: string, ...c: number[]): T | null { return a }",
                "function f (a , b , ...c ) { return a }",
            ),
            ("const g = async <T,>(x: T): Promise<T> => x", "const g = async (x ) => x"),
            ("return (x as unknown as string[])!.length", "return (x ) .length"),
            ("return { a: 1 } satisfies Record<string, number>", "return { a: 1 }"),
            ("interface A { b: string }\nreturn 1", "; return 1"),
            ("type A = { b: 'c' } | null;\nreturn a ? b : c", "; return a ? b : c"),
            ("declare const z: number\nreturn z", "; return z"),
            ("return new Map<string, Array<number>>()", "return new Map ()"),
            (
                "for (const [k, v] of Object.entries(x) as [string, any][]) f(k, v)",
                "for (const [k, v] of Object.entries(x) ) f(k, v)",
            ),
            ("try { f() } catch (e: unknown) { g(e) }", "try { f() } catch (e ) { g(e) }"),
            (
                "abstract class A<T> extends B<T> implements C, D { private readonly x: number = 1; static y?: string; constructor(z: T) { super(z) } abstract f(): void; public async g(this: A<T>, q: T): Promise<void> {} [key: string]: unknown }",
                "class A extends B { x = 1; static y ; constructor(z ) { super(z) } async g( q ) {} }",
            ),
            ("function h(a: string): void\nfunction h(a: any) {}", "; function h(a ) {}"),
            ("const u = <any>v", "const u = v"),
            ("function isS(x: unknown): x is string { return true }", "function isS(x ) { return true }"),
            ("const s = `${(a as number)}ü`", "const s = `${(a )}ü`"),
        ] {
            assert_eq!(erased(code), left, "{code}");
        }
    }

    #[test]
    fn what_would_have_to_be_rewritten_is_named() {
        for (code, what) in [
            ("enum A { B }", "`enum`"),
            ("namespace N { export const a = 1 }", "`namespace`"),
            ("class A { constructor(private x: number) {} }", "parameter properties"),
        ] {
            let refused = erase(&format!("(async () => {{\n{code}\n}})")).unwrap().unwrap_err();
            assert!(refused.contains(what), "{code}: {refused}");
        }
        assert_eq!(erase("(async () => {\nconst = 1\n})"), None);
    }
}
