import com.sun.source.tree.*;
import com.sun.source.util.*;
import java.io.*;
import java.nio.file.*;
import java.util.*;
import java.util.regex.*;
import javax.lang.model.element.*;
import javax.tools.*;

/** Prints every use of a class or method of a project as the Java compiler resolves it: tab-separated, one per line. */
public class JavaOracle {
  static Trees trees;
  static SourcePositions positions;
  static Path root;
  static PrintStream out;

  public static void main(String[] arguments) throws IOException {
    root = Path.of(arguments[0]).toRealPath();
    out = new PrintStream(new FileOutputStream(FileDescriptor.out), false, "UTF-8");
    List<File> files = new ArrayList<>();
    for (String line : Files.readAllLines(Path.of(arguments[1]))) files.add(root.resolve(line).toFile());
    JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
    StandardJavaFileManager manager = compiler.getStandardFileManager(null, null, null);
    JavacTask task =
        (JavacTask) compiler.getTask(
            Writer.nullWriter(), manager, (diagnostic) -> {}, List.of("-proc:none", "-Xmaxerrs", "1000000"), null, manager.getJavaFileObjectsFromFiles(files));
    Iterable<? extends CompilationUnitTree> units = task.parse();
    task.analyze();
    trees = Trees.instance(task);
    positions = trees.getSourcePositions();
    for (CompilationUnitTree unit : units) new Uses(unit).scan(unit, null);
    out.flush();
  }

  static String relative(CompilationUnitTree unit) {
    return root.relativize(Path.of(unit.getSourceFile().toUri())).toString();
  }

  /** path, line and name of a declaration; null for what is not of the project. */
  static String place(TreePath path) throws IOException {
    if (path == null) return null;
    Tree tree = path.getLeaf();
    CompilationUnitTree unit = path.getCompilationUnit();
    String name;
    ModifiersTree modifiers;
    if (tree instanceof ClassTree) {
      name = ((ClassTree) tree).getSimpleName().toString();
      modifiers = ((ClassTree) tree).getModifiers();
    } else if (tree instanceof MethodTree) {
      name = ((MethodTree) tree).getName().toString();
      modifiers = ((MethodTree) tree).getModifiers();
    } else if (tree instanceof VariableTree) {
      name = ((VariableTree) tree).getName().toString();
      modifiers = ((VariableTree) tree).getModifiers();
    } else return null;
    if (name.isEmpty()) return null;
    long start = positions.getEndPosition(unit, modifiers);
    if (start < 0) start = positions.getStartPosition(unit, tree);
    if (name.equals("<init>")) name = ((ClassTree) path.getParentPath().getLeaf()).getSimpleName().toString();
    if (start < 0) return null;
    String text = unit.getSourceFile().getCharContent(true).toString();
    String end = tree instanceof MethodTree ? "\\s*\\(" : "\\b";
    Matcher matcher = Pattern.compile("\\b" + Pattern.quote(name) + end).matcher(text);
    if (!matcher.find((int) start)) return null;
    return relative(unit) + "\t" + unit.getLineMap().getLineNumber(matcher.start()) + "\t" + name;
  }

  static class Uses extends TreePathScanner<Void, Void> {
    final CompilationUnitTree unit;

    Uses(CompilationUnitTree unit) {
      this.unit = unit;
    }

    void define() {
      try {
        String place = place(getCurrentPath());
        if (place != null) out.println("D\t" + place);
      } catch (IOException error) {
        throw new UncheckedIOException(error);
      }
    }

    /** Nearest member of a class that has a name. */
    String caller() throws IOException {
      for (TreePath at = getCurrentPath(); at != null; at = at.getParentPath()) {
        TreePath above = at.getParentPath();
        if (above == null || !(above.getLeaf() instanceof ClassTree)) continue;
        if (((ClassTree) above.getLeaf()).getSimpleName().length() == 0) continue;
        Tree tree = at.getLeaf();
        if (tree instanceof MethodTree || tree instanceof VariableTree) return place(at);
      }
      return null;
    }

    boolean isCall() {
      Tree tree = getCurrentPath().getLeaf();
      Tree above = getCurrentPath().getParentPath().getLeaf();
      if (above instanceof MethodInvocationTree) return ((MethodInvocationTree) above).getMethodSelect() == tree;
      if (above instanceof NewClassTree) return ((NewClassTree) above).getIdentifier() == tree;
      if (above instanceof ParameterizedTypeTree && getCurrentPath().getParentPath().getParentPath().getLeaf() instanceof NewClassTree)
        return ((ParameterizedTypeTree) above).getType() == tree;
      return above instanceof AnnotationTree && ((AnnotationTree) above).getAnnotationType() == tree;
    }

    void use(Element found, String name) {
      Element element = found;
      if (element == null) return;
      if (element.getKind() == ElementKind.CONSTRUCTOR) element = element.getEnclosingElement();
      boolean counted = element.getKind().isClass() || element.getKind().isInterface() || element.getKind() == ElementKind.METHOD;
      if (!counted) return;
      try {
        String target = place(trees.getPath(element));
        if (target == null) return;
        Tree tree = getCurrentPath().getLeaf();
        long at = tree instanceof IdentifierTree ? positions.getStartPosition(unit, tree) : positions.getEndPosition(unit, tree) - name.length();
        String caller = isCall() ? caller() : null;
        out.println("U\t" + relative(unit) + "\t" + unit.getLineMap().getLineNumber(at) + "\t" + target + "\t" + (caller == null ? "\t\t" : caller));
      } catch (IOException error) {
        throw new UncheckedIOException(error);
      }
    }

    @Override
    public Void visitClass(ClassTree tree, Void nothing) {
      define();
      return super.visitClass(tree, nothing);
    }

    @Override
    public Void visitMethod(MethodTree tree, Void nothing) {
      TreePath above = getCurrentPath().getParentPath();
      boolean named = ((ClassTree) above.getLeaf()).getSimpleName().length() > 0;
      if (!tree.getName().contentEquals("<init>") && named) define();
      return super.visitMethod(tree, nothing);
    }

    @Override
    public Void visitIdentifier(IdentifierTree tree, Void nothing) {
      if (!tree.getName().contentEquals("this") && !tree.getName().contentEquals("super"))
        use(trees.getElement(getCurrentPath()), tree.getName().toString());
      return super.visitIdentifier(tree, nothing);
    }

    @Override
    public Void visitMemberSelect(MemberSelectTree tree, Void nothing) {
      use(trees.getElement(getCurrentPath()), tree.getIdentifier().toString());
      return super.visitMemberSelect(tree, nothing);
    }

    @Override
    public Void visitMemberReference(MemberReferenceTree tree, Void nothing) {
      use(trees.getElement(getCurrentPath()), tree.getName().toString());
      return super.visitMemberReference(tree, nothing);
    }
  }
}
