"""Branches, loops, several functions in one, state."""

from . import Input, Program, family, integers


@family
def branches(d):
    """cond, case and switch_case, one in another, some of whose branches have other shapes inside."""
    tf = d.tf
    features = d.between(2, 6)
    weights, way = d.constant(features, features), d.choice("cond", "case", "switch", "nested", "shape")

    def function(x, k):
        if way == "cond":
            return tf.cond(k > 1, lambda: tf.matmul(x, weights), lambda: x * tf.cast(k, tf.float32))
        if way == "switch":
            return tf.switch_case(k, [lambda: x + 1.0, lambda: tf.nn.softmax(x), lambda: tf.reverse(x, [0])])
        if way == "case":
            return tf.case([(k < 1, lambda: x), (k < 2, lambda: -x)], default=lambda: tf.cumsum(x, 1))
        if way == "nested":
            return tf.cond(
                k > 0, lambda: tf.cond(tf.reduce_sum(x) > 0, lambda: x[:, ::-1], lambda: tf.abs(x)), lambda: tf.tanh(x)
            )
        y = tf.cond(k > 1, lambda: tf.concat([x, x], 0), lambda: x[:1])
        return tf.reduce_sum(y, 0), tf.shape(y)[0]

    return Program(function, [Input([d.batch(), features]), Input([], "int32", integers(0, 2))])


@family
def while_loops(d):
    """A loop whose count is fed; whose state grows; that ends by a value; loops in loops."""
    tf = d.tf
    features, way = d.between(1, 5), d.choice("count", "grow", "value", "nested", "break", "digits")

    def count(x, n):
        return tf.while_loop(lambda i, y: i < n, lambda i, y: (i + 1, y * 0.5 + 1.0), [0, x])

    def grow(x, n):
        shapes = [tf.TensorShape([]), tf.TensorShape([None, features])]
        return tf.while_loop(lambda i, y: i < n, lambda i, y: (i + 1, tf.concat([y, x * 2.0], 0)), [0, x], shapes)[1]

    def value(x, n):
        return tf.while_loop(lambda y: tf.reduce_sum(tf.abs(y)) > tf.cast(n, tf.float32), lambda y: (y * 0.5,), [x])[0]

    def nested(x, n):
        for i in tf.range(n):
            for j in tf.range(i):
                x = x + tf.cast(j, tf.float32)
        return x

    def stopped(x, n):
        total = tf.zeros([])
        for i in tf.range(10):
            if i > n:
                break
            total += tf.reduce_sum(x) + tf.cast(i, tf.float32)
        return total

    def digits(x, n):
        last = tf.cast(n, tf.int64) + 12
        steps = tf.constant(0, tf.int64)
        while last > 1:
            last = last // 2 if last % 2 == 0 else last * 3 + 1
            steps += 1
        return steps, tf.reduce_max(x)

    ways = {"count": count, "grow": grow, "value": value, "nested": nested, "break": stopped, "digits": digits}
    return Program(ways[way], [Input([2, features]), Input([], "int32", integers(0, 4))])


@family
def accumulators(d):
    """Variables of several types: counted, averaged, kept for the next call, reset by a flag."""
    tf = d.tf
    module, features = tf.Module(), d.between(1, 5)
    module.mean, module.count = tf.Variable(tf.zeros([features])), tf.Variable(0.0)
    module.last = tf.Variable(tf.ones([2, features]))
    limit = d.between(1, 3)

    def function(x, reset):
        keep = 1.0 - tf.cast(reset, tf.float32)
        module.count.assign(module.count * keep + 1.0)
        module.mean.assign(module.mean * keep + (tf.reduce_mean(x, 0) - module.mean * keep) / module.count)
        change = x - module.last
        module.last.assign(x)
        if limit == 1:
            return change, module.mean.read_value()
        return change, module.mean + 0.0, module.count.read_value()

    return Program(function, [Input([2, features]), Input([], "bool", integers(0, 1, "bool"))], keeps=[module])


@family
def called(d):
    """tf.functions called from a tf.function, some more than once, and custom gradients."""
    tf, features = d.tf, d.between(1, 6)
    weights = [d.constant(features, features) for _ in range(2)]

    @tf.function
    def layer(x, w):
        return tf.nn.leaky_relu(tf.matmul(x, w), 0.1)

    @tf.custom_gradient
    def rounded(x):
        return tf.round(x), lambda up: up

    @tf.recompute_grad
    def block(x):
        return layer(layer(x, weights[0]), weights[1])

    count = d.between(1, 3)

    def function(x):
        for _ in range(count):
            x = block(x)
        return x, rounded(x * 4.0), tf.stop_gradient(x), tf.identity(x)

    return Program(function, [Input([d.batch(), features])])


@family
def gradients(d):
    """A step of training inside of the model: the gradient of a loss, applied."""
    tf = d.tf
    features, classes = d.between(1, 5), d.between(2, 4)
    module = tf.Module()
    module.w, module.b = tf.Variable(d.array(features, classes)), tf.Variable(tf.zeros([classes]))
    way = d.choice("softmax", "square", "sigmoid")

    def function(x, y):
        with tf.GradientTape() as tape:
            logits = tf.matmul(x, module.w) + module.b
            target = tf.one_hot(y, classes)
            if way == "softmax":
                loss = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(target, logits))
            elif way == "square":
                loss = tf.reduce_mean((logits - target) ** 2)
            else:
                loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(target, logits))
        for variable, gradient in zip([module.w, module.b], tape.gradient(loss, [module.w, module.b]), strict=True):
            variable.assign_sub(0.1 * gradient)
        return loss

    rows = d.between(1, 4)
    return Program(
        function, [Input([rows, features]), Input([rows], "int32", integers(0, classes - 1))], keeps=[module]
    )
